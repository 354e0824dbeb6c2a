/** Amounts are below this. It keeps each of them an exact number of pence. */
export const MAX_POUNDS = 1e12;

/** The maximum length of a URL from a seller, as it is sent: normalized, so that `é` counts as `%C3%A9`. */
export const MAX_URL_LENGTH = 2048;
