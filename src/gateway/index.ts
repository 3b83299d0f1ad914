/** The gateway for your own programs. `paystile serve` runs it from a file. */
export { ConfigurationError } from '../core/errors/configuration-error.ts'
export { readPlanFile } from './config/file.ts'
export type { Plan, RoutePlan } from './config/plan.ts'
export type { GatewayConfig, GatewayRoute } from './config/schema.ts'
export { defineGateway, jsonSchema } from './config/schema.ts'
export type { Gateway, GatewayParts } from './gateway.ts'
export { createGateway, openGateway } from './gateway.ts'
export type { OwnRoutes } from './proxy/handle-request.ts'
