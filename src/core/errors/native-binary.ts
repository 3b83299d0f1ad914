/**
 * Loads packages with a native binary. They exist for some machines only, so a load failure becomes a sentence for the
 * operator.
 */

export interface BinaryUse {
  /** The part of paystile that needs the package. */
  readonly part: string
  readonly name: string
  /** The alternative if there is no binary. */
  readonly instead: string
  /** Creates the error from the sentence. */
  readonly refuse: (sentence: string) => Error
  /** Node's `process`, or a part of it. */
  readonly machine: { readonly platform: string; readonly arch: string }
}

/**
 * Loads a package with a native binary. On failure it throws the error of `refuse`, which names the package and the
 * machine.
 */
export async function loadBinary<Module>(
  { part, name, instead, refuse, machine }: BinaryUse,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    // Keeps the first clause: loaders append paths, build details, or advice for other problems.
    const [reason] = (error instanceof Error ? error.message : String(error)).split(/\n|\. | for platform=/)
    const place = `${machine.platform}-${machine.arch}`
    throw refuse(`${part} needs ${name}, but its binary does not load on ${place} (${reason}); ${instead}`)
  }
}
