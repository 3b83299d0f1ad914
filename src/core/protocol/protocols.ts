/** The payment protocols of the client, the preferred one first. */
export const protocols = ['paystile', 'mpp', 'x402', 'x402-v1'] as const
export type Protocol = (typeof protocols)[number]
export type ForeignProtocol = Exclude<Protocol, 'paystile'>
