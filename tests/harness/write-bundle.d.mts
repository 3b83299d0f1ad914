/** Writes the bundle of this program into this directory, and returns its path. */
export function writeBundle(directory: string, input: string): Promise<string>
