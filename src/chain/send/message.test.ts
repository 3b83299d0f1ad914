import { AccountRole, address, generateKeyPairSigner, getTransactionDecoder, type Instruction } from '@solana/kit'
import { beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { createVerifier } from '../../host/keys/ed25519.ts'
import { memoProgram } from '../accounts/programs.ts'
import { createWallet, type Wallet } from '../keys/keypair.ts'
import { walletFromSigner } from '../keys/signer.ts'
import { decodeTransaction, verifySignatures } from '../read/decode.ts'
import { attachSignature, composeMessage, signUnchanged, unsigned } from './message.ts'

const lifetime = { blockhash: encodeBase58(new Uint8Array(32).fill(9)), lastValidBlockHeight: 10 }
let wallets: readonly Wallet[]

beforeAll(async () => {
  wallets = await Promise.all([1, 2, 3].map((byte) => createWallet(new Uint8Array(32).fill(byte))))
})

/** A memo that all but the fee payer sign for. */
function memo(text: string): Instruction {
  const accounts = wallets
    .slice(1)
    .map(({ address: signer }) => ({ address: address(signer), role: AccountRole.READONLY_SIGNER }))
  return { programAddress: address(memoProgram), accounts, data: new TextEncoder().encode(text) }
}
const draft = (text = 'two legs') => unsigned(composeMessage([memo(text)], lifetime, wallets[0]?.address ?? ''))

function read(bytes: Uint8Array) {
  const decoding = decodeTransaction(bytes)
  if (decoding.kind === 'malformed') throw new Error(decoding.why)
  return decoding.transaction
}
const isSigned = (bytes: Uint8Array) => verifySignatures(read(bytes), createVerifier())

describe('a message of several signers', () => {
  it('has an empty place for each of them, and the fee payer first', () => {
    const { signatures, keys, version } = read(draft())
    expect(version).toBe(0)
    expect(signatures).toHaveLength(3)
    expect(signatures.every((one) => one.every((byte) => byte === 0))).toBe(true)
    expect(encodeBase58(keys[0] ?? new Uint8Array())).toBe(wallets[0]?.address)
    expect(Object.keys(getTransactionDecoder().decode(draft()).signatures)).toHaveLength(3)
  })

  it.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 0, 2]]])(
    'is complete when all of them signed, in the order %s',
    async (order) => {
      let bytes = draft()
      for (const index of order) {
        expect(isSigned(bytes)).toBe(false)
        bytes = await signUnchanged(bytes, wallets[index] as Wallet, index === 1 ? createVerifier() : undefined)
      }
      expect(isSigned(bytes)).toBe(true)
      expect(read(bytes).message).toEqual(read(draft()).message)
    },
  )

  it('takes signatures that came from elsewhere', async () => {
    const [ours, theirs] = await Promise.all([
      signUnchanged(draft(), wallets[0] as Wallet),
      signUnchanged(draft(), wallets[1] as Wallet),
    ])
    const keys = read(theirs).keys.map(encodeBase58)
    const place = keys.indexOf(wallets[1]?.address ?? '')
    const signature = read(theirs).signatures[place] as Uint8Array
    const both = await attachSignature(ours, wallets[1]?.address ?? '', signature)
    expect(isSigned(await signUnchanged(both, wallets[2] as Wallet))).toBe(true)
    // A signature of somebody else, under something else, or none at all.
    await expect(attachSignature(ours, wallets[2]?.address ?? '', signature)).rejects.toThrow('did not sign')
    await expect(attachSignature(draft('other'), wallets[1]?.address ?? '', signature)).rejects.toThrow('did not sign')
    const [signer, short] = [wallets[1]?.address ?? '', new Uint8Array(63)]
    await expect(attachSignature(ours, signer, short)).rejects.toThrow('did not sign')
    await expect(attachSignature(ours, signer, short, createVerifier())).rejects.toThrow('did not sign')
    await expect(attachSignature(ours, memoProgram, signature)).rejects.toThrow('is not a signer')
    await expect(attachSignature(Uint8Array.of(1), memoProgram, signature)).rejects.toThrow('not a transaction')
  })

  it('is signed by a kit signer at its own place, too', async () => {
    const pair = await generateKeyPairSigner()
    const second = walletFromSigner({ address: pair.address, signTransactions: pair.signTransactions })
    const account = { address: pair.address, role: AccountRole.READONLY_SIGNER }
    const instruction = { programAddress: address(memoProgram), accounts: [account], data: new Uint8Array([97]) }
    const first = await signUnchanged(
      unsigned(composeMessage([instruction], lifetime, wallets[0]?.address ?? '')),
      wallets[0] as Wallet,
    )
    expect(isSigned(await signUnchanged(first, second))).toBe(true)
  })

  it('is not signed by a wallet that is none of its signers', async () => {
    const stranger = await createWallet(new Uint8Array(32).fill(8))
    await expect(signUnchanged(draft(), stranger)).rejects.toThrow("does not need this wallet's signature")
    await expect(stranger.signTransaction(draft())).rejects.toThrow(TypeError)
  })

  it('loses no signature to a wallet that clears the others', async () => {
    const first = await signUnchanged(draft(), wallets[1] as Wallet)
    const rude: Wallet = {
      ...(wallets[0] as Wallet),
      signTransaction: () => wallets[0]?.signTransaction(draft()) as never,
    }
    const both = await signUnchanged(first, rude)
    expect(isSigned(await signUnchanged(both, wallets[2] as Wallet))).toBe(true)
  })

  it.each<[string, (wallet: Wallet) => Uint8Array | Promise<Uint8Array>, string]>([
    ['changes it', (wallet) => wallet.signTransaction(draft('more for me')), 'changed the transaction'],
    ['does not sign', () => draft(), 'did not sign'],
    ['signs wrongly', () => draft().fill(7, 1, 65), 'did not sign'],
    ['returns something else', () => new Uint8Array(), 'did not return a transaction'],
  ])('is not taken from a wallet that %s', async (_name, sign, why) => {
    const wallet = wallets[0] as Wallet
    const hostile: Wallet = { ...wallet, signTransaction: async () => sign(wallet) }
    await expect(signUnchanged(draft(), hostile)).rejects.toThrow(why)
    await expect(signUnchanged(draft(), hostile, createVerifier())).rejects.toThrow(why)
  })
})
