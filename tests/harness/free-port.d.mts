/** A free port that no connection and no server without a chosen port gets before the program listens on it. */
export declare function freePort(): Promise<number>
