/** Works on many things, so many of them at the same time at the most. The results are in the order of the things. */
export async function mapLimit<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const left = items.entries()
  const go = async (): Promise<void> => {
    // All of them take from the same list.
    for (const [index, item] of left) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, go))
  return results
}
