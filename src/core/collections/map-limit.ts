/** Maps items with an async function, with a limit on concurrent calls. The results keep the order of the items. */
export async function mapLimit<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const left = items.entries()
  const go = async (): Promise<void> => {
    // All workers share one iterator.
    for (const [index, item] of left) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, go))
  return results
}
