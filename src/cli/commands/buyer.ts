/** Commands for payers: quote, pay, verify a payment, manage a wallet. */
import { type Commands, collect, networkOption } from '../run.ts'

export function addBuyerCommands({ program, command, run }: Commands): void {
  const buyer = (name: string, description: string, json?: string) =>
    command(name, description, program, json)
      .argument('<url>', 'address of the resource')
      .option('-X, --request <method>', 'HTTP method')
      .option('-H, --header <line>', 'request header "Name: value"; repeatable', collect, [])
      .option('-d, --data <text>', 'request body; @file reads a file')
      .option('--token <code>', 'token to pay with; repeatable, in order of preference', collect, [])
      .option('--rpc <url>', 'Solana node for the payment', collect, [])
      .option('--mint <code=address>', 'mint of a token: NATIVE=<address>:<decimals>[:token-2022]', collect, [])
      .option('--allow-http', 'allow payments over plain http to other machines')
      .addOption(networkOption())

  buyer(
    'pay',
    'request a resource, pay its price, and write it to stdout',
    'print status, headers, payment and body as one line of JSON',
  )
    .option('--wallet <file>', 'key file to pay with')
    .option('-i, --include', 'print status and headers, too')
    .option('-o, --output <file>', 'write the body to a file; resumes an interrupted download')
    .option('--max <amount>', 'maximum price of one payment, such as "0.05 USDC"', collect, [])
    .option('--prepay <megabytes>', 'megabytes to buy in advance, if the resource is sold by the megabyte')
    .option('--buy-more', 'with -o: repeat payments within the limits until the file is complete')
    .option('--sig', "prove the payment with the wallet's signature instead of a claim secret")
    .option('--dry-run', 'run all checks without paying')
    .option('--timeout <seconds>', 'seconds to wait for payment and resource (default: 120)')
    .action(run(async () => (await import('../buyer/pay.ts')).pay))

  buyer('quote', 'show the price of a resource')
    .option('--timeout <seconds>', 'seconds to wait for the response (default: 60)')
    .action(run(async () => (await import('../buyer/quote.ts')).quote))

  command('verify', 'check a payment on chain without using it')
    .argument('<tx>', 'transaction signature')
    .argument('<requestId>', 'requestId of the payment')
    .option('--recipient <address>', 'expected recipient')
    .option('--amount <decimal>', 'expected amount')
    .option('--token <code>', 'expected token')
    .option('--payer <address>', 'expected payer')
    .option('--config <file>', 'configuration of the paid service (default: paystile.yaml in this directory)')
    .option('--rpc <url>', 'Solana node', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../buyer/verify.ts')).verify))

  const wallet = program.command('wallet').description('manage the wallet for payments').exitOverride()
  command('new', 'create a wallet', wallet)
    .argument('[file]', 'key file to write')
    .action(run(async () => (await import('../buyer/wallet.ts')).newWallet))
  command('show', 'show the address of the wallet', wallet)
    .argument('[file]', 'key file')
    .action(run(async () => (await import('../buyer/wallet.ts')).showWallet))
  command('balance', 'show the balances of the wallet', wallet)
    .argument('[file]', 'key file')
    .option('--rpc <url>', 'Solana node', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../buyer/wallet.ts')).showBalance))

  command('faucet', 'get test money on a test network')
    .argument('[address]', 'receiving address (default: your wallet)')
    .option('--token <code>', 'only this token (default: all)')
    .option('--amount <decimal>', 'amount of the token')
    .option('--url <url>', 'address of the faucet (default: every localnet on this machine)')
    .action(run(async () => (await import('../buyer/faucet.ts')).faucet))
}
