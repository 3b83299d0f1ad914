/**
 * The compression function of SHA-256 as a WebAssembly module, written instruction by instruction. It takes less than half
 * of the time of JavaScript, because JavaScript has no rotation of 32 bits.
 */
export interface Sha256Block {
  /** The eight words of the state. */
  readonly state: Int32Array
  /** The 64 bytes of the next block. */
  readonly block: Uint8Array
  /** Adds the block to the state. */
  readonly compress: () => void
}

export const initialState = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const

const roundConstants = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]

/** Undefined if this process permits no WebAssembly, as with `--jitless`. */
export function openSha256Block(): Sha256Block | undefined {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(writeModule()))
    const { buffer } = exports['memory'] as WebAssembly.Memory
    new Int32Array(buffer, places.constants, 64).set(roundConstants)
    return {
      state: new Int32Array(buffer, places.state, 8),
      block: new Uint8Array(buffer, places.block, 64),
      compress: exports['compress'] as () => void,
    }
  } catch {
    return undefined
  }
}

/** Offsets in the memory, in bytes. `words` are the 16 of the block and the 48 that follow from them. */
const places = { state: 0, block: 64, words: 256, constants: 512 }

type Code = readonly number[]

/** Operators take their operands from the stack. */
const [add, xor, and, or] = [[0x6a], [0x73], [0x71], [0x72]] as const
const [shiftRight, rotateLeft, rotateRight] = [[0x76], [0x77], [0x78]] as const
const isLess: Code = [0x49]

/** LEB128. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

function signed(value: number): Code {
  return value >= -0x40 && value < 0x40 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)]
}

const get = (local: number): Code => [0x20, local]
const set = (local: number): Code => [0x21, local]
const constant = (value: number): Code => [0x41, ...signed(value | 0)]
/** The word at the address on the stack plus `offset`. */
const load = (offset: number): Code => [0x28, 2, ...unsigned(offset)]
const store = (offset: number): Code => [0x36, 2, ...unsigned(offset)]

const state = [0, 1, 2, 3, 4, 5, 6, 7] as const
const [a, b, c, d, e, f, g, h] = state
/** `at` is the offset of a word that is now computed. */
const [at, value, sum] = [8, 9, 10] as const
const locals = 11

/** Repeats the body with `at` = 0, 4, 8, … below `end`. */
function loop(end: number, body: Code): Code {
  const next = [...get(at), ...constant(4), ...add, ...set(at)]
  const isOpen = [...get(at), ...constant(end), ...isLess]
  return [...constant(0), ...set(at), 0x03, 0x40, ...body, ...next, ...isOpen, 0x0d, 0, 0x0b]
}

/** Two rotations and a third rotation or a shift of one word, joined by xor. */
function mix(word: number, first: number, second: number, third: number, last: Code = rotateRight): Code {
  const turn = (by: number, how: Code) => [...get(word), ...constant(by), ...how]
  return [...turn(first, rotateRight), ...turn(second, rotateRight), ...xor, ...turn(third, last), ...xor]
}

/** The word at `at` plus an offset in `words`. */
const word = (index: number): Code => [...get(at), ...load(places.words + 4 * index)]

/** The words of a block are big-endian, and those of the memory little-endian. */
const readBlock = loop(64, [
  ...[...get(at), ...get(at), ...load(places.block), ...set(value)],
  ...[...get(value), ...constant(8), ...rotateLeft, ...constant(0x00ff00ff), ...and],
  ...[...get(value), ...constant(24), ...rotateLeft, ...constant(0xff00ff00), ...and],
  ...[...or, ...store(places.words)],
])

const extendWords = loop(48 * 4, [
  ...[...get(at), ...word(0), ...word(9), ...add],
  ...[...word(1), ...set(value), ...mix(value, 7, 18, 3, shiftRight), ...add],
  ...[...word(14), ...set(value), ...mix(value, 17, 19, 10, shiftRight), ...add],
  ...store(places.words + 4 * 16),
])

const round = [
  ...[...get(h), ...mix(e, 6, 11, 25), ...add],
  ...[...get(g), ...get(e), ...get(f), ...get(g), ...xor, ...and, ...xor, ...add],
  ...[...get(at), ...load(places.constants), ...add, ...word(0), ...add, ...set(sum)],
  ...[...get(g), ...set(h), ...get(f), ...set(g), ...get(e), ...set(f), ...get(d), ...get(sum), ...add, ...set(e)],
  ...[...mix(a, 2, 13, 22), ...get(sum), ...add],
  ...[...get(a), ...get(b), ...and, ...get(c), ...get(a), ...get(b), ...or, ...and, ...or, ...add, ...set(value)],
  ...[...get(c), ...set(d), ...get(b), ...set(c), ...get(a), ...set(b), ...get(value), ...set(a)],
]

const stateAt = (index: number): Code => [...constant(0), ...load(places.state + 4 * index)]
const readState = state.flatMap((local) => [...stateAt(local), ...set(local)])
const addState = state.flatMap((local) => [
  ...[...constant(0), ...stateAt(local), ...get(local), ...add, ...store(places.state + 4 * local)],
])

/** One function, `compress`, and one page of memory, `memory`. */
function writeModule(): Uint8Array<ArrayBuffer> {
  const section = (id: number, content: Code) => [id, ...unsigned(content.length), ...content]
  const name = (text: string) => [text.length, ...new TextEncoder().encode(text)]
  const body = [...readBlock, ...extendWords, ...readState, ...loop(64 * 4, round), ...addState, 0x0b]
  const code = [1, locals, 0x7f, ...body]
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 0, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, ...name('memory'), 2, 0, ...name('compress'), 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ])
}
