/** Text with a copy button. */
import { useSignal } from '@preact/signals'
import { Fragment } from 'preact'
import { Icon } from './icons.tsx'

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const state = useSignal<'idle' | 'done' | 'failed'>('idle')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      state.value = 'done'
    } catch {
      // A page without https cannot write to the clipboard.
      state.value = 'failed'
    }
    setTimeout(() => {
      state.value = 'idle'
    }, 2_000)
  }
  const said = { idle: '', done: 'Copied', failed: 'Select the text and copy it' }[state.value]
  return (
    <span class="copying">
      <button type="button" class="icon-button" onClick={() => void copy()} aria-label={`Copy ${what}`}>
        <Icon name={state.value === 'done' ? 'check' : 'copy'} />
      </button>
      <span role="status" class={state.value === 'failed' ? 'copy-said' : 'unseen'}>
        {said}
      </span>
    </span>
  )
}

/** A command for a terminal. Its lines end between words, because a browser would also break `--url` after a hyphen. */
export function Command({ text }: { readonly text: string }) {
  return (
    <span class="command">
      <code>
        {text.split(/(\s+)/).map((part, index) => (
          // Every second part is the space between two words.
          <Fragment key={index}>{index % 2 === 1 ? part : <span class="command-word">{part}</span>}</Fragment>
        ))}
      </code>
      <CopyButton text={text} what="the command" />
    </span>
  )
}

export function IdLine({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd class="fact-id">
        <code>{text}</code>
        <CopyButton text={text} what={name} />
      </dd>
    </div>
  )
}
