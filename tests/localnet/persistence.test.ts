/** Chains that outlive their process, also when it dies suddenly. */
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Localnet, LocalnetDataError, startLocalnet } from '../../src/localnet/index.ts'
import { size } from '../harness/length.ts'
import { build, client, frozen, memo, newWallet, pay } from './client.ts'

const sol = 1_000_000_000n
const root = fileURLToPath(new URL('../..', import.meta.url))
const folders: string[] = []
const open: Localnet[] = []

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'paystile-localnet-'))
  folders.push(path)
  return path
}

async function start(options: Parameters<typeof startLocalnet>[0]): Promise<Localnet> {
  const localnet = await startLocalnet(options)
  open.push(localnet)
  return localnet
}

async function close(localnet: Localnet): Promise<void> {
  open.splice(open.indexOf(localnet), 1)
  await localnet.close()
}

afterEach(async () => {
  for (const localnet of open.splice(0)) await localnet.close()
})
afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
})

describe('a chain that was closed', () => {
  it('goes on where it was: hash, money, history, programs, replays', async () => {
    const dataDir = folder()
    const first = await start({ ...frozen, dataDir })
    const [payer, payee, program] = [await newWallet(), await newWallet(), await newWallet()]
    await first.fund(payer.address, { SOL: 10n * sol, USDC: 7n })
    first.setProgram(
      program.address,
      first.getAccount('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')?.data ?? new Uint8Array(),
    )
    const rpc = client(first)
    const sent = await build(
      payer,
      [pay(payer, payee.address, sol), memo('kept', program.address)],
      await rpc.blockhash(),
    )
    await rpc.send(sent.wire)
    expect((await rpc.status(sent.signature))?.err).toBeNull()
    const slot = first.slot()
    first.advanceSlots(3)
    const before = await rpc.get('getBlock', slot, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 })
    await close(first)

    const second = await start({ ...frozen, dataDir })
    const again = client(second)
    expect(second.genesisHash).toBe(first.genesisHash)
    expect(second.faucetAddress).toBe(first.faucetAddress)
    expect(second.slot()).toBeGreaterThan(slot)
    expect(await again.balance(payee.address, 'finalized')).toBe(Number(sol))
    expect(await again.get('getBlock', slot, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 })).toEqual(
      before,
    )
    expect(
      await again.get<unknown[]>('getSignaturesForAddress', payee.address, { commitment: 'confirmed' }),
    ).toHaveLength(1)
    expect((await again.send(sent.wire)).error?.data?.['err']).toBe('AlreadyProcessed')
    const next = await build(payer, [memo('again', program.address)], await again.blockhash())
    await again.send(next.wire)
    expect((await again.status(next.signature))?.err).toBeNull()
    await second.fund(payee.address, { USDC: 5n })
    expect(
      (await again.value<{ amount: string }>('getTokenSupply', second.mints.USDC?.address, { commitment: 'processed' }))
        .amount,
    ).toBe('12')
  })

  it('makes stored slots final, and cannot drop them any more', async () => {
    const dataDir = folder()
    const first = await start({ ...frozen, dataDir })
    const payer = await newWallet()
    const [signature] = await first.fund(payer.address, { SOL: sol })
    await close(first)
    const second = await start({ ...frozen, dataDir })
    expect((await client(second).status(signature as string))?.confirmationStatus).toBe('finalized')
    expect(second.rollback(1)).toEqual([])
    expect(await client(second).balance(payer.address)).toBe(Number(sol))
  })

  it('was idle while it was closed: time and slots have passed', async () => {
    const dataDir = folder()
    const first = await start({ dataDir, slotMs: 1, startTime: 1_000_000_000_000 })
    first.advance(1_000, 10)
    const [slot, now] = [first.slot(), first.now()]
    await close(first)
    await new Promise((done) => setTimeout(done, 30))
    const second = await start({ dataDir, slotMs: 1 })
    expect(second.now() - now).toBeGreaterThanOrEqual(30)
    expect(second.now() - now).toBeLessThan(60_000)
    expect(second.slot() - slot).toBeGreaterThanOrEqual(29)
  })

  it('remembers dropped forks and the lengths its slots had', async () => {
    const dataDir = folder()
    const first = await start({ ...frozen, dataDir })
    first.advanceSlots(10)
    first.rollback(4)
    first.advanceSlots(2)
    const look = async (localnet: Localnet) => {
      const rpc = client(localnet)
      const blocks = await rpc.get('getBlocks', 0, 13, { commitment: 'confirmed' })
      return [blocks, await rpc.get('getBlockTime', 3), await rpc.get('getBlock', 7, { commitment: 'confirmed' })]
    }
    const before = await look(first)
    expect(before[0]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 12, 13])
    await close(first)
    const second = await start({ slotMs: 7, dataDir })
    expect(await look(second)).toEqual(before)
  })
})

it('a chain without one of the mints, as an earlier version left it, gets the mint when it opens', async () => {
  const dataDir = folder()
  const first = await start({ ...frozen, dataDir })
  const { USDC: usdc, NATIVE: native } = first.mints
  const wallet = await newWallet()
  await first.fund(wallet.address, { NATIVE: 3n })
  await close(first)
  const db = new DatabaseSync(join(dataDir, 'chain.sqlite'))
  db.prepare('delete from accounts where address = ?').run(usdc?.address ?? '')
  db.close()
  const second = await start({ ...frozen, dataDir })
  await second.fund(wallet.address, { USDC: 5n, NATIVE: 4n })
  const supply = async (mint: string | undefined) =>
    (await client(second).value<{ amount: string }>('getTokenSupply', mint, { commitment: 'processed' })).amount
  expect([await supply(usdc?.address), await supply(native?.address)]).toEqual(['5', '7'])
})

describe('a chain reopened with slots of another length', () => {
  it('counts those that passed by the old length', async () => {
    const dataDir = folder()
    const first = await start({ dataDir })
    const slot = first.slot()
    await close(first)
    passWhileClosed(dataDir, 1_000_000)
    const second = await start({ dataDir, slotMs: 1 })
    expect(second.slot() - slot).toBeGreaterThanOrEqual(2_500)
    expect(second.slot() - slot).toBeLessThan(50_000)
  })

  it('does not go back when the machine’s clock was set back', async () => {
    const dataDir = folder()
    const first = await start({ dataDir })
    const wallet = await newWallet()
    await first.fund(wallet.address, { SOL: sol })
    first.advance(10_000)
    const [slot, now] = [first.slot(), first.now()]
    await close(first)
    passWhileClosed(dataDir, -50_000_000)
    const second = await start({ dataDir })
    expect(second.slot()).toBeGreaterThanOrEqual(slot)
    expect(second.now()).toBeGreaterThan(now - 2_000)
    const rpc = client(second)
    expect(second.now() / 1000).toBeGreaterThanOrEqual(await rpc.get<number>('getBlockTime', second.slot() - 1))
  })

  /** As if the wall clock had moved by so much. */
  function passWhileClosed(dataDir: string, milliseconds: number): void {
    const db = new DatabaseSync(join(dataDir, 'chain.sqlite'))
    const stored = db.prepare("select value from meta where key = 'offset'").get()?.['value'] as Uint8Array
    const moved = Number(Buffer.from(stored).toString()) + milliseconds
    db.prepare("update meta set value = ? where key = 'offset'").run(Buffer.from(String(moved)))
    db.close()
  }
})

describe('data that cannot be used', () => {
  it('names the file that is not a chain', async () => {
    const dataDir = folder()
    const file = join(dataDir, 'chain.sqlite')
    writeFileSync(file, 'this is not a database, but it is long enough to be taken for one at first sight'.repeat(20))
    await expect(start({ dataDir })).rejects.toThrow(LocalnetDataError)
    await expect(start({ dataDir })).rejects.toThrow(file)
  })

  it('reports a database of another program, and one of another version', async () => {
    const foreign = folder()
    const other = new DatabaseSync(join(foreign, 'chain.sqlite'))
    other.exec('create table notes (text)')
    other.close()
    await expect(start({ dataDir: foreign })).rejects.toThrow(/chain\.sqlite is not a paystile localnet chain/)
    const dataDir = folder()
    await close(await start({ ...frozen, dataDir }))
    const newer = new DatabaseSync(join(dataDir, 'chain.sqlite'))
    newer.exec('pragma user_version = 99')
    newer.close()
    await expect(start({ dataDir })).rejects.toThrow(/another version \(format 99/)
  })

  it('is not shared by two localnets', async () => {
    const dataDir = folder()
    await start({ ...frozen, dataDir })
    await expect(start({ dataDir })).rejects.toThrow(/another process has it open/)
  })

  it('is let go when a start fails for another reason, or is closed twice', async () => {
    const dataDir = folder()
    const other = await start(frozen)
    await expect(start({ dataDir, port: Number(new URL(other.rpcUrl).port) })).rejects.toThrow(/two free ports/)
    const localnet = await start({ ...frozen, dataDir })
    await Promise.all([localnet.close(), localnet.close()])
    await close(localnet)
    await start({ ...frozen, dataDir })
  })

  it('keeps nothing anywhere without a directory', async () => {
    const before = process.cwd()
    const localnet = await start(frozen)
    const other = await start(frozen)
    expect(localnet.genesisHash).not.toBe(other.genesisHash)
    expect(existsSync(join(before, ':memory:'))).toBe(false)
  })
})

describe('a process that is killed', () => {
  const workshop = folder()
  const script = fileURLToPath(new URL('./child.mjs', import.meta.url))
  const built = join(workshop, 'built', 'localnet', 'index.js')

  /** Node 20 cannot run TypeScript, and `dist` may be stale: the children get a build of their own. */
  beforeAll(() => {
    const config = {
      extends: join(root, 'tsconfig.build.json'),
      compilerOptions: { rootDir: join(root, 'src'), outDir: join(workshop, 'built'), noCheck: true },
      files: [join(root, 'src/localnet/index.ts')],
      include: [],
    }
    writeFileSync(join(workshop, 'tsconfig.json'), JSON.stringify(config))
    writeFileSync(join(workshop, 'package.json'), '{"type":"module"}')
    symlinkSync(join(root, 'node_modules'), join(workshop, 'node_modules'))
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', workshop])
    const memoProgram = 'localnet/store/memo-v3.so.gz'
    copyFileSync(join(root, 'src', memoProgram), join(workshop, 'built', memoProgram))
  })

  function spawnChain(dataDir: string): Promise<{ rpcUrl: string; genesisHash: string; kill(): Promise<void> }> {
    const child = spawn(process.execPath, [script, built, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.stdout.once('data', (line) =>
        resolve({
          ...(JSON.parse(String(line)) as { rpcUrl: string; genesisHash: string }),
          async kill() {
            child.kill('SIGKILL')
            await ended
          },
        }),
      )
    })
  }

  it('leaves a whole chain, with everything it had called confirmed', async () => {
    const dataDir = folder()
    let paid = 0n
    let genesisHash: string | undefined
    const [payer, payee] = [await newWallet(), await newWallet()]
    const confirmed: string[] = []
    for (let round = 0; round < size(2, 4); round++) {
      const chain = await spawnChain(dataDir)
      expect(genesisHash ?? chain.genesisHash).toBe(chain.genesisHash)
      genesisHash = chain.genesisHash
      const rpc = client(chain)
      if (round === 0) {
        const faucet = {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ address: payer.address }),
        }
        expect((await fetch(`${chain.rpcUrl}/faucet`, faucet)).status).toBe(200)
      }
      for (const signature of confirmed)
        expect(await rpc.get('getTransaction', signature, { maxSupportedTransactionVersion: 0 })).not.toBeNull()
      const sent = []
      for (let count = 0; count < 12; count++) {
        const { wire, signature } = await build(payer, [pay(payer, payee.address, 1_000_000n)], await rpc.blockhash())
        await rpc.send(wire, { skipPreflight: true })
        sent.push(signature)
      }
      const statuses = await rpc.value<({ confirmationStatus: string } | null)[]>('getSignatureStatuses', sent)
      await chain.kill()
      const sure = sent.filter((_, index) =>
        ['confirmed', 'finalized'].includes(statuses[index]?.confirmationStatus ?? ''),
      )
      confirmed.push(...sure)
    }
    expect(confirmed.length).toBeGreaterThan(size(5, 10))
    const last = await start({ dataDir })
    const rpc = client(last)
    const all = await rpc.get<{ signature: string; err: unknown }[]>('getSignaturesForAddress', payee.address, {
      commitment: 'confirmed',
    })
    paid = BigInt(all.filter(({ err }) => err === null).length) * 1_000_000n
    expect(confirmed.filter((signature) => !all.some((one) => one.signature === signature))).toEqual([])
    // Money and history are of one slot: neither is ahead of the other.
    expect(await rpc.balance(payee.address, 'confirmed')).toBe(Number(paid))
    expect(await rpc.balance(payer.address, 'confirmed')).toBe(Number(10n * sol - paid) - all.length * 5_000)
  })
})
