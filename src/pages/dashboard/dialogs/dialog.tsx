/** A panel above the page. The browser keeps the focus inside, closes it on Esc, and restores the focus. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../elements/icons.tsx'

interface DialogProps {
  readonly title: string
  readonly class: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Dialog({ title, class: name, onClose, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = box.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  // A click beside the panel does what Esc does for the keyboard.
  useEffect(() => {
    const dialog = box.current
    const closeBeside = (event: MouseEvent) => {
      if (event.target === dialog) onClose()
    }
    dialog?.addEventListener('click', closeBeside)
    return () => dialog?.removeEventListener('click', closeBeside)
  }, [onClose])
  return (
    <dialog
      ref={box}
      class={name}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="icon-button" onClick={onClose} aria-label="Close">
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  )
}
