/** Checks the nodes: response, chain, latency, lag, and push support. */
import { readGenesis } from '../../chain/rpc/genesis.ts'
import { readCount } from '../../chain/rpc/json.ts'
import { type Call, createRpc, type Node, type Rpc } from '../../chain/rpc/rpc.ts'
import { isFields } from '../../core/encoding/fields.ts'
import { genesisHashes, type Network } from '../../core/money/tokens.ts'
import type { Transport } from '../../core/runtime.ts'
import { connectSocket, listSocketUrls } from '../../host/net/sockets.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const timeoutMs = 5_000
/** About twenty seconds of slots. */
const mostLag = 50

export interface NetworkFacts {
  /** Only nodes of the right chain; undefined without one. */
  readonly rpc: Rpc | undefined
  readonly genesis: string | undefined
}

export interface NodesReport extends NetworkFacts {
  readonly findings: readonly Finding[]
}

interface Seen {
  readonly name: string
  readonly url: string
  readonly genesis: string | undefined
  readonly ms: number
  readonly why: string
  readonly version: string
  readonly slot: number | undefined
  readonly hasSocket: boolean
}

export async function checkNodes(
  network: Network,
  urls: readonly string[],
  transport: Transport,
): Promise<NodesReport> {
  if (urls.length === 0) {
    const finding = ok('not set: the service starts its own local chain, which ends with it')
    return { findings: [finding], rpc: undefined, genesis: undefined }
  }
  const rpc = createRpc({ urls, transport, timeoutMs })
  const seen = await Promise.all(rpc.nodes.map((node, index) => look(node, urls[index] ?? '')))
  rpc.close()
  const genesis = genesisHashes[network] ?? seen.find((node) => node.genesis !== undefined)?.genesis
  const isRight = (node: Seen) => node.genesis !== undefined && node.genesis === genesis && isOf(network, node.genesis)
  const good = seen.filter(isRight)
  const furthest = Math.max(...good.map(({ slot }) => slot ?? 0))
  const findings = seen.flatMap((node) => describe(node, { network, isRight: isRight(node), furthest, good, seen }))
  const right = good.map(({ url }) => url)
  return {
    findings: [...findings, ...countWords(network, seen.length)],
    rpc: right.length === 0 ? undefined : createRpc({ urls: right, transport, timeoutMs }),
    genesis: right.length === 0 ? undefined : genesis,
  }
}

/** The hash of a localnet is arbitrary, but none of the known hashes. */
function isOf(network: Network, genesis: string | undefined): boolean {
  return network !== 'localnet' || !Object.values(genesisHashes).includes(genesis ?? '')
}

async function look({ name, call }: Node, url: string): Promise<Seen> {
  const start = performance.now()
  const answer = await call('getGenesisHash', [])
  const ms = performance.now() - start
  const why = answer.kind === 'unavailable' ? answer.why : answer.kind === 'refused' ? answer.message : ''
  const genesis = answer.kind === 'answered' ? await readGenesis(call) : undefined
  const isThere = genesis !== undefined
  return {
    name,
    url,
    genesis,
    ms,
    why,
    version: isThere ? await readVersion(call) : '',
    slot: isThere ? await readSlot(call) : undefined,
    hasSocket: isThere && (await opensSocket(url)),
  }
}

async function readVersion(call: Call): Promise<string> {
  const answer = await call('getVersion', [])
  const version = answer.kind === 'answered' && isFields(answer.result) ? answer.result['solana-core'] : undefined
  return typeof version === 'string' && /^[\w.+-]{1,40}$/.test(version) ? version : 'unknown'
}

async function readSlot(call: Call): Promise<number | undefined> {
  const answer = await call('getSlot', [{ commitment: 'confirmed' }])
  return answer.kind === 'answered' ? readCount(answer.result) : undefined
}

async function opensSocket(url: string): Promise<boolean> {
  for (const address of listSocketUrls(url)) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connectSocket(address, {
        opened: () => {
          resolve(true)
          socket.close()
        },
        received: () => {},
        closed: () => resolve(false),
      })
    })
    if (isOpen) return true
  }
  return false
}

interface Company {
  readonly network: Network
  readonly isRight: boolean
  readonly furthest: number
  readonly good: readonly Seen[]
  readonly seen: readonly Seen[]
}

const whereNodes = 'rpc in the configuration, or PAYSTILE_RPC'

function describe(node: Seen, { network, isRight, furthest, good, seen }: Company): readonly Finding[] {
  const { name, genesis, ms, why, version, slot, hasSocket } = node
  if (genesis === undefined) {
    const start = network === 'localnet' ? 'start the chain with npx paystile localnet, or correct' : 'correct'
    // The other nodes still serve, but a quorum needs two.
    const tell = good.length > 0 ? warn : fail
    return [tell(`${name} of ${seen.length}: ${why || 'did not return its genesis hash'}`, `${start} ${whereNodes}`)]
  }
  if (!isRight) {
    const [known] = Object.entries(genesisHashes).find(([, hash]) => hash === genesis) ?? []
    const chain = known ?? 'another chain'
    return [
      fail(
        `${name} of ${seen.length} is a node of ${chain}, not of ${network}`,
        `set a node of ${network} as ${whereNodes}`,
      ),
    ]
  }
  const lag = slot === undefined ? undefined : furthest - slot
  const facts = `${name} of ${seen.length} responds for ${network} in ${Math.round(ms)} ms, version ${version}`
  const behind =
    lag === undefined || lag > mostLag
      ? [
          warn(
            lag === undefined ? `${name} did not return its slot` : `${name} is ${lag} slots behind the others`,
            `wait until it has caught up, or set another as ${whereNodes}`,
          ),
        ]
      : []
  const socket = hasSocket
    ? []
    : [
        warn(
          `${name} has no WebSocket, so the service sees payments some seconds later`,
          `use a node with WebSockets as ${whereNodes}, or ignore this`,
        ),
      ]
  return [ok(`${facts}${hasSocket ? ', with WebSocket' : ''}`), ...behind, ...socket]
}

function countWords(network: Network, count: number): readonly Finding[] {
  if (network !== 'mainnet' || count > 1) return []
  const why = 'only one node is configured: the service must trust it, and sells nothing while it is down'
  return [warn(why, `add a second node of another provider to ${whereNodes}`)]
}
