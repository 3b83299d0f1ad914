/** Commands for setup: write a configuration, check it, create test tokens. */
import { type Commands, networkOption, nodeOption } from '../run.ts'

export function addSetupCommands({ command, group, run }: Commands): void {
  command('init', 'write paystile.yaml and a secret, for `serve`')
    .argument('[directory]', 'target directory (default: this one)')
    .option('--upstream <url>', 'address of your API, such as http://127.0.0.1:3000')
    .option('--path <path>', 'paid path: /api/weather, or /api/* for everything below /api')
    .option('--price <decimal>', 'price of a request')
    .option('--token <code>', 'token of the price: USDC (the default), SOL or NATIVE')
    .option('--recipient <address>', 'address of the wallet that receives payments (on localnet: created if omitted)')
    .addOption(networkOption('Solana network (with --yes: localnet by default)'))
    .option('--yes', 'ask no questions; use defaults for missing options')
    .option('--force', 'replace an existing paystile.yaml; never replaces the secret in .env')
    .action(run(() => import('../setup/init.ts'), 'init'))

  command('doctor', 'check the setup of a service, and print the fix of each problem')
    .argument('[file]', 'configuration file (default: paystile.yaml in this directory, else the PAYSTILE_ variables)')
    .action(run(() => import('../doctor/doctor.ts'), 'doctor'))

  const mints = group('mints', 'create your own test tokens')
  command('create', 'create test USDC and test NATIVE, and print the lines for paystile.yaml', mints)
    .argument('[file]', 'key file of the wallet that issues the tokens and pays the fees (default: your wallet)')
    .addOption(nodeOption())
    .addOption(networkOption('devnet or localnet (default: devnet)'))
    .action(run(() => import('../setup/mints.ts'), 'createMints'))
}
