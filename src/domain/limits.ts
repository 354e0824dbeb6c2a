/** Amounts are below this. It keeps each of them an exact number of pence. */
export const MAX_POUNDS = 1e12;

/** Orders expire at most this long after now: a year, also one with a leap day. */
export const MAX_EXPIRY_DAYS = 366;

/** The maximum length of a URL from a seller, as it is sent: normalized, so that `é` counts as `%C3%A9`. */
export const MAX_URL_LENGTH = 2048;
