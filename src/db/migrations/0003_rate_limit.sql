-- Counts of requests that all API processes share. The columns, in this order, are what rate-limiter-flexible expects.
-- Unlogged: a count is worth no write to disk, and one that a crash of Postgres empties is as good.
create unlogged table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  -- In ms since 1970, by the clock of the process that counted first; the library deletes the row an hour later.
  expire bigint
) with (fillfactor = 50);
