/** Commands for payers: quote, pay, verify a payment, manage a wallet. */
import { type Commands, networkOption, nodeOption, repeatable, serviceNetwork } from '../run.ts'

const usualWallet = 'default: PAYSTILE_WALLET, else ~/.paystile/wallet.json'

const mintOption = (meaning: string) =>
  repeatable(
    '--mint <code=address>',
    `${meaning}: EURC=<address>:<decimals>[:token-2022]`,
    'the known mints of the network',
  )

const loadWallet = () => import('../buyer/wallet.ts')

export function addBuyerCommands({ program, command, group, run }: Commands): void {
  const buyer = (name: string, description: string, json?: string) =>
    command(name, description, program, json)
      .argument('<url>', 'address of the resource')
      .option('-X, --request <method>', 'HTTP method (default: GET, or POST with a body)')
      .addOption(repeatable('-H, --header <line>', 'request header "Name: value"', 'none'))
      .option('-d, --data <text>', 'request body; @file reads a file')
      .addOption(repeatable('--token <code>', 'token to pay with, the preferred one first', "the server's preference"))
      .addOption(
        repeatable(
          '--protocol <name>',
          'payment protocol, the preferred one first: paystile, mpp, x402, x402-v1',
          'all, in this order',
        ),
      )
      .addOption(nodeOption())
      .addOption(mintOption("mint of the server's own token"))
      .option('--allow-http', 'allow payments over plain http to other machines')
      .addOption(networkOption('pay only on this Solana network (default: the one that the server names)'))

  buyer(
    'pay',
    'request a resource, pay its price, and write it to stdout',
    'print status, headers, payment and body as one line of JSON',
  )
    .option(
      '--wallet <file>',
      'key file to pay with (default: PAYSTILE_WALLET, else the wallet of the demo for its own resources, else ~/.paystile/wallet.json)',
    )
    .option('-i, --include', 'print status and headers before the body')
    .option('-o, --output <file>', 'write the body to a file; resumes an interrupted download')
    .addOption(
      repeatable('--max <amount>', 'highest price of one payment, such as "0.05 USDC"', '1 USDC, 0.01 SOL, 10 NATIVE'),
    )
    .option('--prepay <megabytes>', 'megabytes to buy at once, if the resource is sold by the megabyte')
    .option('--buy-more', 'with -o: pay again, each time within --max, until the file is complete')
    .option('--sig', "prove the payment with the wallet's signature instead of a secret")
    .option('--dry-run', 'run all checks without paying')
    .option('--timeout <seconds>', 'seconds to wait for payment and resource (default: 120)')
    .action(run(() => import('../buyer/pay.ts'), 'pay'))

  buyer('quote', 'show the price of a resource')
    .option('--timeout <seconds>', 'seconds to wait for the response (default: 60)')
    .action(run(() => import('../buyer/quote.ts'), 'quote'))

  command(
    'mcp',
    'let an agent buy resources over MCP, within a budget',
    program,
    'has no effect: stdout is the protocol',
  )
    .addOption(repeatable('--budget <amount>', 'required: most to spend in a UTC day, such as "1 USDC"', 'none'))
    .addOption(repeatable('--max <amount>', 'highest price of one payment', 'the budget'))
    .addOption(repeatable('--ask-over <amount>', 'ask the user to approve payments above this amount', 'never ask'))
    .addOption(repeatable('--host <host>', 'host that may be requested', 'any'))
    .addOption(repeatable('--recipient <address>', 'wallet that may be paid', 'any'))
    .option('--wallet <file>', `key file to pay with (${usualWallet})`)
    .addOption(nodeOption())
    .addOption(mintOption("mint of a server's own token"))
    .option('--allow-http', 'allow payments over plain http to other machines')
    .addOption(networkOption('pay only on this Solana network (default: the one that the server names)'))
    .action(run(() => import('../mcp/mcp.ts'), 'mcp'))

  command('verify', 'check a payment on chain; the payment stays usable')
    .argument('<tx>', 'transaction signature')
    .argument('<requestId>', 'requestId of the payment')
    .option('--recipient <address>', 'expected recipient')
    .option('--amount <decimal>', 'expected amount')
    .option('--token <code>', 'expected token')
    .option('--payer <address>', 'expected payer')
    .option('--config <file>', 'configuration of the paid service (default: paystile.yaml in this directory)')
    .addOption(nodeOption())
    .addOption(networkOption(serviceNetwork))
    .action(run(() => import('../buyer/verify.ts'), 'verify'))

  const wallet = group('wallet', 'create or show the wallet that pays')
  command('new', 'create a wallet and its key file', wallet)
    .argument('[file]', `key file to create (${usualWallet})`)
    .action(run(loadWallet, 'newWallet'))
  command('show', 'show the address of the wallet', wallet)
    .argument('[file]', `key file (${usualWallet})`)
    .action(run(loadWallet, 'showWallet'))
  command('balance', 'show the balances of the wallet', wallet)
    .argument('[file]', `key file (${usualWallet})`)
    .addOption(nodeOption())
    .addOption(networkOption())
    .addOption(mintOption('mint of another token'))
    .action(run(loadWallet, 'showBalance'))

  command('faucet', 'get test tokens from a localnet, or from the faucet of a service')
    .argument('[address]', 'address that receives the tokens (default: your wallet, created if missing)')
    .option('--token <code>', 'token: SOL, USDC, NATIVE, or EURC of a localnet (default: the first three)')
    .option('--amount <decimal>', "amount; needs --token (default: the faucet's)")
    .option('--url <url>', 'address of a faucet (default: every localnet on this machine)')
    .action(run(() => import('../buyer/faucet.ts'), 'faucet'))
}
