/** The address of the other sellers, and of the caller with the wrong keys. */
export const OTHERS_ADDRESS = '127.0.0.2';
/** Each attack has an address of its own below this one. */
export const ATTACKER_NETWORK = '127.0.1';
