/** The result of `work`; after `ms` the result of `late`, which may throw. */
export function within<Result, Late>(ms: number, work: Result | Promise<Result>, late: () => Late) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  }).then(late)
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
