/** Packages with a native binary exist for some machines only: a failure to load one becomes a sentence for the operator. */

export interface BinaryUse {
  /** The part of paystile that needs the package. */
  readonly part: string
  /** The name of the package. */
  readonly name: string
  /** What to do where there is no binary. */
  readonly instead: string
  /** Makes the error from the sentence. */
  readonly refuse: (sentence: string) => Error
  /** Node's `process`, or a part of it. */
  readonly machine: { readonly platform: string; readonly arch: string }
}

/** Loads a package with a native binary. Throws the error of `refuse`, which names package and machine, when it cannot. */
export async function loadBinary<Module>(
  { part, name, instead, refuse, machine }: BinaryUse,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    // The first clause: loaders append paths, details of the build, or advice for other problems.
    const [reason] = (error instanceof Error ? error.message : String(error)).split(/\n|\. | for platform=/)
    const place = `${machine.platform}-${machine.arch}`
    throw refuse(`${part} needs ${name}, whose binary does not load on ${place} (${reason}); ${instead}`)
  }
}
