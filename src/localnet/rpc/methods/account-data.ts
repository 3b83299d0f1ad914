/** Formats accounts for RPC responses: four encodings, and a slice of the data. */
import { encodeBase58 } from '../../../core/encoding/base58.ts'
import type { Account } from '../../accounts/account.ts'
import type { ParseAccount } from '../../parse/account.ts'
import { RpcError } from '../wire/errors.ts'
import { type Config, readChoice, readConfig, readInteger } from '../wire/params.ts'

export type AccountEncoding = 'binary' | 'base58' | 'base64' | 'jsonParsed' | 'base64+zstd'

export interface AccountFormat {
  readonly encoding: AccountEncoding
  readonly slice: { readonly offset: number; readonly length: number } | undefined
}

const maxBase58Bytes = 128

export function readAccountFormat(config: Config, fallback: AccountEncoding = 'binary'): AccountFormat {
  const encodings = ['binary', 'base58', 'base64', 'jsonParsed', 'base64+zstd'] as const
  const encoding = readChoice<AccountEncoding>(config['encoding'], encodings, fallback)
  const slice = config['dataSlice']
  if (slice === undefined || slice === null) return { encoding, slice: undefined }
  const { offset, length } = readConfig(slice)
  return { encoding, slice: { offset: readInteger(offset), length: readInteger(length) } }
}

export function formatAccount(address: string, account: Account, format: AccountFormat, parse: ParseAccount): unknown {
  return {
    data: formatData(address, account, format, parse),
    executable: account.executable,
    lamports: account.lamports,
    owner: account.owner,
    rentEpoch: account.rentEpoch,
    space: account.data.length,
  }
}

function formatData(address: string, account: Account, { encoding, slice }: AccountFormat, parse: ParseAccount) {
  const data = slice ? account.data.subarray(slice.offset, slice.offset + slice.length) : account.data
  if (encoding === 'jsonParsed') return parse(address, account) ?? [Buffer.from(data).toString('base64'), 'base64']
  if (encoding === 'base64') return [Buffer.from(data).toString('base64'), 'base64']
  if (encoding === 'base64+zstd') return [zstdFrame(data).toString('base64'), 'base64+zstd']
  if (data.length > maxBase58Bytes) {
    throw new RpcError(
      -32600,
      `Encoded binary (base 58) data should be less than ${maxBase58Bytes} bytes, please use Base64 encoding.`,
    )
  }
  return encoding === 'binary' ? encodeBase58(data) : [encodeBase58(data), 'base58']
}

const maxBlockBytes = 128 * 1024

/** A zstd frame of uncompressed blocks. It is valid for every reader and needs no compressor. */
function zstdFrame(data: Uint8Array): Buffer {
  const head = Buffer.alloc(9)
  head.writeUInt32LE(0xfd2fb528, 0)
  // A single segment, with the content size in four bytes.
  head[4] = 0b10100000
  head.writeUInt32LE(data.length, 5)
  const parts: Uint8Array[] = [head]
  for (let at = 0; at === 0 || at < data.length; at += maxBlockBytes) {
    const block = data.subarray(at, at + maxBlockBytes)
    const last = at + maxBlockBytes >= data.length
    const blockHead = Buffer.alloc(3)
    blockHead.writeUIntLE((block.length << 3) | (last ? 1 : 0), 0, 3)
    parts.push(blockHead, block)
  }
  return Buffer.concat(parts)
}
