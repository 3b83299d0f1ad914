/** How many cases a property runs: 50,000 in `npm test`, more by `PAYSTILE_FUZZ_RUNS`. */
export const fuzzRuns = Number(process.env['PAYSTILE_FUZZ_RUNS'] ?? 50_000)
