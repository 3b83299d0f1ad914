type Finder = (env: NodeJS.ProcessEnv) => string | undefined | Promise<string | undefined>

export declare const browserFlags: readonly string[]
export declare const findInstalled: Finder
export declare function findBrowser(env?: NodeJS.ProcessEnv, ways?: readonly Finder[]): Promise<string>
