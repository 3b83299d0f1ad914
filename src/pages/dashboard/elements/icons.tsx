/** The icons of the page, in the colour of the surrounding text. */
const paths = {
  home: 'M3 9.5 10 3.5l7 6M5 8.5V16.5h10V8.5',
  payments: 'M3 5.5h14v9H3zM3 8.5h14M6 12h3',
  endpoints: 'M4 6h12M4 10h8M4 14h10',
  payers: 'M10 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 16.5c.6-3 3-4.5 6-4.5s5.4 1.5 6 4.5',
  rewards:
    'M4 6.2C4 5 6.7 4 10 4s6 1 6 2.2-2.7 2.3-6 2.3-6-1-6-2.3ZM4 6.2v7.6C4 15 6.7 16 10 16s6-1 6-2.2V6.2M4 10c0 1.2 2.7 2.2 6 2.2s6-1 6-2.2',
  settlement: 'M4 7h11.5M12.5 4l3 3-3 3M16 13H4.5M7.5 10l-3 3 3 3',
  webhooks: 'M4 10a6 6 0 0 1 12 0M7 10a3 3 0 0 1 6 0M10 10v6M7.5 16.5h5',
  service: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.1M7 13.5h.1',
  problems: 'M10 3.5 17.5 16.5h-15zM10 8v4M10 14.2v.2',
  settings: 'M4 6h7M15 6h1M4 14h1M9 14h7M13 4.2v3.6M7 12.2v3.6',
  more: 'M4.5 9.5h1v1h-1zM9.5 9.5h1v1h-1zM14.5 9.5h1v1h-1z',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM13 13l4 4',
  download: 'M10 3.5v8.5M6.5 9 10 12.5 13.5 9M4 16.5h12',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  close: 'M5 5l10 10M15 5 5 15',
  check: 'M4.5 10.5 8.5 14.5 15.5 6',
  cross: 'M6 6l8 8M14 6l-8 8',
  dash: 'M5 10h10',
  pause: 'M7 5v10M13 5v10',
  play: 'M7 4.5 15.5 10 7 15.5z',
  up: 'M5 12l5-5 5 5',
  left: 'M12 5l-5 5 5 5',
  right: 'M8 5l5 5-5 5',
  refund: 'M7.5 4.5 4 8l3.5 3.5M4 8h7.5a4 4 0 0 1 0 8H9',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
