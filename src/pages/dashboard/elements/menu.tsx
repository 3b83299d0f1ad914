/** A button that opens a small panel below it. Esc or a click elsewhere closes the panel. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icons.tsx'

interface MenuProps {
  readonly icon: IconName
  readonly label: ComponentChildren
  /** The class of the button. */
  readonly kind?: string
  readonly children: ComponentChildren
}

export function Menu({ icon, label, kind = 'button', children }: MenuProps) {
  const box = useRef<HTMLDetailsElement>(null)
  // Most menus stay closed, so the content waits until the menu is opened.
  const [wasOpened, setOpened] = useState(false)
  useEffect(() => {
    const close = (event: Event) => {
      const details = box.current
      if (!details?.open) return
      if (event instanceof KeyboardEvent) {
        if (event.key !== 'Escape') return
        if (details.contains(document.activeElement)) details.querySelector('summary')?.focus()
      } else if (details.contains(event.target as Node)) return
      details.open = false
    }
    document.addEventListener('pointerdown', close)
    document.addEventListener('keydown', close)
    return () => {
      document.removeEventListener('pointerdown', close)
      document.removeEventListener('keydown', close)
    }
  }, [])
  return (
    <details class="menu" ref={box} onToggle={() => setOpened(true)}>
      <summary class={kind}>
        <Icon name={icon} />
        <span>{label}</span>
      </summary>
      <div class="menu-panel">{wasOpened && children}</div>
    </details>
  )
}
