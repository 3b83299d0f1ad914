import { fetchWith402, initAgentWallet } from 'paystile'

const wallet = await initAgentWallet()
const response = await fetchWith402('http://127.0.0.1:3000/report', { wallet, tokens: ['USDC'] })
console.log(await response.json())
