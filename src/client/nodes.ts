/**
 * The nodes of a payment, checked against the chain that the challenge names. A node's address never comes from the
 * challenge, because its author could obtain a signed payment that is valid on another chain.
 */
import { readGenesis } from '../chain/rpc/genesis.ts'
import { createRpc, type Rpc } from '../chain/rpc/rpc.ts'
import type { SignatureNotices } from '../chain/rpc/signature-notices.ts'
import { genesisHashes, type Network, publicNodes } from '../core/money/tokens.ts'
import type { Transport } from '../core/runtime.ts'
import { PaymentError } from './errors.ts'

export interface NodesParts {
  readonly transport: Transport
  /** The node of a localnet on this machine, selected by genesis hash if one is given. */
  readonly findLocalnet: (genesis: string | undefined) => string | undefined
  /** Notices of these nodes. Without it, the client polls. */
  readonly openNotices?: (urls: readonly string[]) => Promise<SignatureNotices>
}

export interface Connection {
  readonly rpc: Rpc
  readonly genesis: string
  readonly notices?: SignatureNotices
}

export interface Nodes {
  /** Throws a `PaymentError` if no node of that chain can be reached. */
  connect(
    network: Network,
    genesis: string | undefined,
    rpc: string | readonly string[] | undefined,
  ): Promise<Connection>
  /** Whether the chain was a local one that ended, such as that of a server which was restarted. */
  hasEnded(network: Network, genesis: string, rpc: string | readonly string[] | undefined): boolean
}

export function createNodes({ transport, findLocalnet, openNotices }: NodesParts): Nodes {
  const connections = new Map<string, Connection>()
  return {
    connect: async (network, genesis, given) => {
      const urls = listUrls(network, genesis, given, findLocalnet)
      const name = JSON.stringify(urls)
      const known = connections.get(name)
      if (known && isChain(network, genesis, known.genesis)) return known
      // The address of an earlier localnet can belong to another one today.
      const [opened, notices] = await Promise.all([open(urls, transport), openNotices?.(urls)])
      const connection = { ...opened, ...(notices && { notices }) }
      if (!isChain(network, genesis, connection.genesis)) throw wrongChain(network)
      connections.set(name, connection)
      return connection
    },
    hasEnded: (network, genesis, given) =>
      network === 'localnet' && listGiven(given).length === 0 && findLocalnet(genesis) === undefined,
  }
}

function listGiven(given: string | readonly string[] | undefined): readonly string[] {
  return typeof given === 'string' ? [given] : (given ?? [])
}

function listUrls(
  network: Network,
  genesis: string | undefined,
  given: string | readonly string[] | undefined,
  findLocalnet: NodesParts['findLocalnet'],
): readonly string[] {
  const chosen = listGiven(given)
  if (chosen.length > 0) return chosen
  if (network !== 'localnet') return publicNodes[network]
  const url = findLocalnet(genesis)
  if (url !== undefined) return [url]
  throw new PaymentError(
    'chain_unavailable',
    'The challenge is for a local chain that this user does not run. Pass its node as rpc, or set PAYSTILE_RPC.',
  )
}

async function open(urls: readonly string[], transport: Transport): Promise<Connection> {
  const rpc = createRpc({ urls, transport })
  const answers = await Promise.all(rpc.nodes.map(({ call }) => readGenesis(call)))
  const hashes = answers.filter((hash) => hash !== undefined)
  const [genesis] = hashes
  if (genesis === undefined) {
    throw new PaymentError(
      'chain_unavailable',
      'No Solana node can be reached. Nothing was paid. Check rpc and try again.',
    )
  }
  if (hashes.some((hash) => hash !== genesis))
    throw new PaymentError('wrong_chain', 'The nodes in rpc belong to different chains. Use nodes of one chain.')
  return { rpc, genesis }
}

function isChain(network: Network, wanted: string | undefined, actual: string): boolean {
  const known = genesisHashes[network]
  if (known !== undefined) return known === actual
  return !Object.values(genesisHashes).includes(actual) && (wanted === undefined || wanted === actual)
}

function wrongChain(network: Network): PaymentError {
  return new PaymentError(
    'wrong_chain',
    `The server charges on ${network}, but the node in rpc belongs to another chain. Nothing was paid.`,
  )
}
