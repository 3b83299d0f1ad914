/**
 * A tiny assembler for the chain's own machine code (sBPF).
 *
 * No compiler for on-chain programs is at hand, so the ELF file is put together here: code, one dynamic symbol (the
 * system call that lets a program call another) and the table that tells the loader where it is called.
 */

export type Register = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
type Width = 'b' | 'dw'

const invoke = 'sol_invoke_signed_c'
const loads: Readonly<Record<Width, number>> = { b: 0x71, dw: 0x79 }
const stores: Readonly<Record<Width, number>> = { b: 0x73, dw: 0x7b }
const immediate = { mov: 0xb7, add: 0x07, mul: 0x27, and: 0x57, rsh: 0x77 }
const between = { mov: 0xbf, add: 0x0f, sub: 0x1f }
const jumps = { jeq: 0x15, jne: 0x55 }

export interface Assembler {
  label(name: string): void
  /** register ← number */
  set(operation: keyof typeof immediate, register: Register, value: number): void
  /** register ← register */
  join(operation: keyof typeof between, to: Register, from: Register): void
  /** A number of 64 bits, such as an address. */
  wide(register: Register, value: bigint): void
  load(width: Width, to: Register, from: Register, offset: number): void
  store(width: Width, to: Register, offset: number, from: Register): void
  jump(to: string): void
  jumpIf(condition: keyof typeof jumps, register: Register, value: number, to: string): void
  /** Jumps when the first register is not below the second. */
  jumpUnlessBelow(left: Register, right: Register, to: string): void
  invoke(): void
  exit(): void
}

interface Code {
  readonly bytes: Uint8Array
  /** Positions of the calls, in bytes. */
  readonly calls: readonly number[]
}

/** Writes a program and wraps it into a file that the chain's loader takes. */
export function assembleProgram(write: (assembler: Assembler) => void): Uint8Array {
  return elfOf(assemble(write))
}

function assemble(write: (assembler: Assembler) => void): Code {
  const words: { opcode: number; to: number; from: number; offset: number | string; value: number }[] = []
  const labels = new Map<string, number>()
  const calls: number[] = []
  const put = (opcode: number, to = 0, from = 0, offset: number | string = 0, value = 0) =>
    void words.push({ opcode, to, from, offset, value })
  write({
    label: (name) => void labels.set(name, words.length),
    set: (operation, register, value) => put(immediate[operation], register, 0, 0, value),
    join: (operation, to, from) => put(between[operation], to, from),
    wide(register, value) {
      put(0x18, register, 0, 0, Number(BigInt.asIntN(32, value)))
      put(0, 0, 0, 0, Number(BigInt.asIntN(32, value >> 32n)))
    },
    load: (width, to, from, offset) => put(loads[width], to, from, offset),
    store: (width, to, offset, from) => put(stores[width], to, from, offset),
    jump: (to) => put(0x05, 0, 0, to),
    jumpIf: (condition, register, value, to) => put(jumps[condition], register, 0, to, value),
    jumpUnlessBelow: (left, right, to) => put(0x3d, left, right, to),
    invoke() {
      calls.push(words.length * 8)
      put(0x85, 0, 0, 0, -1)
    },
    exit: () => put(0x95),
  })
  const view = new DataView(new ArrayBuffer(words.length * 8))
  for (const [index, { opcode, to, from, offset, value }] of words.entries()) {
    const distance = typeof offset === 'number' ? offset : (labels.get(offset) ?? Number.NaN) - index - 1
    if (Number.isNaN(distance)) throw new Error(`no label ${offset}`)
    view.setUint8(index * 8, opcode)
    view.setUint8(index * 8 + 1, to | (from << 4))
    view.setInt16(index * 8 + 2, distance, true)
    view.setInt32(index * 8 + 4, value, true)
  }
  return { bytes: new Uint8Array(view.buffer), calls }
}

interface Section {
  readonly name: string
  readonly type: number
  readonly flags: number
  readonly data: Uint8Array
  readonly link?: number
  readonly entry?: number
}

const headerBytes = 64

function pack(...numbers: readonly (readonly [bytes: 1 | 2 | 4 | 8, value: number])[]): Uint8Array {
  return Uint8Array.from(
    numbers.flatMap(([bytes, value]) =>
      Array.from({ length: bytes }, (_, index) => Number((BigInt(value) >> BigInt(8 * index)) & 255n)),
    ),
  )
}

const text = (...names: readonly string[]) => new TextEncoder().encode(names.map((name) => `${name}\0`).join(''))
const joined = (parts: readonly Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]))
const aligned = (bytes: number) => Math.ceil(bytes / 8) * 8

/** Wraps code into a shared object that the chain's loader takes. Its sections lie where their addresses say. */
function elfOf(code: Code): Uint8Array {
  const symbols = joined([new Uint8Array(24), pack([4, 1], [1, 0x10], [1, 0], [2, 0], [8, 0], [8, 0])])
  const textAt = headerBytes
  const relocations = joined(code.calls.map((at) => pack([8, textAt + at], [4, 10], [4, 1])))
  const relocationsAt = textAt + aligned(code.bytes.length)
  const symbolsAt = relocationsAt + aligned(relocations.length)
  const namesAt = symbolsAt + aligned(symbols.length)
  const names = text('', invoke)
  const dynamic = pack(
    ...(
      [
        [17, relocationsAt],
        [18, relocations.length],
        [19, 16],
        [6, symbolsAt],
        [11, 24],
        [5, namesAt],
        [10, names.length],
        [0, 0],
      ] as const
    ).flatMap(([tag, value]) => [[8, tag] as const, [8, value] as const]),
  )
  const sections: Section[] = [
    { name: '.text', type: 1, flags: 6, data: code.bytes },
    { name: '.rel.dyn', type: 9, flags: 2, data: relocations, link: 3, entry: 16 },
    { name: '.dynsym', type: 11, flags: 2, data: symbols, link: 4, entry: 24 },
    { name: '.dynstr', type: 3, flags: 2, data: names },
    { name: '.dynamic', type: 6, flags: 2, data: dynamic, link: 4, entry: 16 },
  ]
  const labels = ['', ...sections.map(({ name }) => name), '.shstrtab']
  sections.push({ name: '.shstrtab', type: 3, flags: 0, data: text(...labels) })
  const nameAt = (name: string) => text(...labels.slice(0, labels.indexOf(name))).length
  const heads: Uint8Array[] = [new Uint8Array(64)]
  const bodies: Uint8Array[] = []
  let at = headerBytes
  for (const { name, type, flags, data, link = 0, entry = 0 } of sections) {
    const address = flags === 0 ? 0 : at
    const head = [
      [4, nameAt(name)],
      [4, type],
      [8, flags],
      [8, address],
      [8, at],
      [8, data.length],
    ] as const
    heads.push(pack(...head, [4, link], [4, 0], [8, 8], [8, entry]))
    bodies.push(data, new Uint8Array(aligned(data.length) - data.length))
    at += aligned(data.length)
  }
  const magic = Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  const rest = [
    [2, 3],
    [2, 247],
    [4, 1],
    [8, textAt],
    [8, 64],
    [8, at],
    [4, 0],
    [2, 64],
    [2, 56],
    [2, 0],
  ] as const
  const header = joined([magic, pack(...rest, [2, 64], [2, heads.length], [2, heads.length - 1])])
  return joined([header, ...bodies, ...heads])
}
