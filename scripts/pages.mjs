// Builds the pages into dist/pages: the dashboard as files of its own, the checkout as one script and one style sheet that
// the server writes into its document, and the style sheet of the pages without a script.
import { join } from 'node:path'
import { build } from 'vite'
import { root } from './prepare.mjs'

// With another value in the environment, Vite builds pages for development, which are larger.
process.env['NODE_ENV'] = 'production'

/** @type {import('vite').InlineConfig} */
const common = {
  configFile: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
}
const output = (name) => ({
  outDir: join(root, 'dist/pages', name),
  emptyOutDir: true,
  target: 'es2022',
  modulePreload: false,
  assetsInlineLimit: 0,
  reportCompressedSize: false,
})

await build({
  ...common,
  root: join(root, 'src/pages/dashboard'),
  base: '/dashboard/',
  build: {
    ...output('dashboard'),
    // One file for everything that the first screen needs: a file that imports another costs a round trip.
    rollupOptions: { output: { codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] } } },
  },
})
await build({
  ...common,
  root: join(root, 'src/pages/checkout'),
  build: {
    ...output('checkout'),
    lib: {
      entry: 'main.ts',
      formats: ['iife'],
      name: 'checkout',
      fileName: () => 'checkout.js',
      cssFileName: 'checkout',
    },
  },
})
await build({
  ...common,
  root: join(root, 'src/pages/plain'),
  build: {
    ...output('plain'),
    rollupOptions: {
      input: join(root, 'src/pages/plain/plain.css'),
      output: { assetFileNames: '[name][extname]' },
    },
  },
})
