/** A signal that increases periodically while the page is visible, for data that changes without a payment. */
import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** 0 means never. */
export function usePulse(everyMs: number): ReadonlySignal<number> {
  const pulse = useSignal(0)
  useEffect(() => {
    if (everyMs === 0) return
    const timer = setInterval(() => {
      if (!document.hidden) pulse.value += 1
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, pulse])
  return pulse
}
