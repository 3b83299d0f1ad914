import { fetchWith402, initAgentWallet } from 'paystile'

const wallet = await initAgentWallet()
const words = ['one', 'two', 'three', 'four', 'five']
// In parallel: the first request that gets a 402 buys a bundle, and the others use it.
const answers = await Promise.all(
  words.map((word) => fetchWith402(`http://127.0.0.1:3000/translate?text=${word}`, { wallet, tokens: ['USDC'] })),
)
for (const answer of answers) console.log((await answer.json()).german)
console.log(answers.at(-1).headers.get('Payment-Allowance'))
