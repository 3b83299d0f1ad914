/** The list of the keys. */
import { Dialog } from './dialog.tsx'
import { isHelpOpen, paletteKey } from './keyboard.ts'

const list = [
  [['j', '↓'], 'Next row, or next payment'],
  [['k', '↑'], 'Previous row, or previous payment'],
  [['Enter'], 'Open the payment'],
  [['Esc'], 'Close'],
  [['/'], 'Search payments'],
  [[paletteKey], 'Go to a screen, an endpoint or a payment'],
  [['?'], 'These keys'],
] as const

export function KeysHelp() {
  const close = () => {
    isHelpOpen.value = false
  }
  return (
    <Dialog title="Keys" class="panel" onClose={close}>
      <dl class="keys">
        {list.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
