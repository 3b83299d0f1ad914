export declare function writeClientPackage(folder: string): void
export declare function buildClient(): Promise<string>
