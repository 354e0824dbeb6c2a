-- Accounts with their changes, keys and secrets; orders with what is left to do, timelines, idempotency keys, webhooks
-- and attempts; breakers of webhook endpoints; applications and payments of the hosted checkout; the operators' audit
-- log and rate limits. Amounts are in pence. Times are set by Postgres unless the comment states otherwise.

create table seller (
  id uuid primary key,
  name text not null,
  -- The sandbox lender decides on the applications of a sandbox account, and only on those. Never changes.
  sandbox boolean not null default false,
  default_redirect_url text,
  default_cancel_url text,
  -- Where customers of orders without a cancel URL go back to; null for the front page of the redirect URL.
  shop_url text,
  pricing jsonb not null default '{"representativeInterest": 0, "promotions": []}',
  -- Shown on the hosted checkout.
  brand_colour text check (brand_colour ~ '^#[0-9a-f]{6}$'),
  logo bytea check (octet_length(logo) <= 32768),
  logo_type text check (logo_type in ('image/png', 'image/jpeg', 'image/webp')),
  contact_email text,
  help_url text,
  -- Null if only the service's own limit applies.
  max_order_amount_pence bigint check (max_order_amount_pence > 0),
  -- Requests per minute; null if the service's own limit applies.
  rate_limit integer check (rate_limit > 0),
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  -- For the orders' foreign key.
  unique (id, sandbox),
  check ((logo is null) = (logo_type is null))
);

-- The audit log of an account: the seller row keeps only the current settings.
create table seller_change (
  id bigint generated always as identity primary key,
  seller_id uuid not null references seller,
  at timestamptz not null default now(),
  changes jsonb not null
);
create index seller_change_by_seller on seller_change (seller_id);

-- A key is found by its SHA-256 digest. The key itself is never stored.
create table api_key (
  digest bytea primary key,
  id bigint generated always as identity unique,
  kind text not null check (kind in ('seller', 'checkout')),
  seller_id uuid references seller,
  label text,
  -- The first characters of the key, so that operators can recognize it: far too few to use it.
  starts_with text not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  check ((kind = 'seller') = (seller_id is not null))
);
create index api_key_by_seller on api_key (seller_id);

-- Every active secret signs, so that a receiver can change to a new secret while the old one is still active.
create table webhook_secret (
  id bigint generated always as identity primary key,
  seller_id uuid not null references seller,
  -- `enc:<key id>:<nonce, tag and ciphertext in base64url>`; in clear if no encryption key is configured.
  secret text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index webhook_secret_by_seller on webhook_secret (seller_id);

-- The facts of an order, which never change, and a snapshot of the state that its workflow owns.
create table orders (
  id uuid primary key,
  seller_id uuid not null,
  seller_name text not null,
  -- As in the account.
  sandbox boolean not null default false,
  amount_pence bigint not null check (amount_pence > 0),
  reference text not null,
  allowed_payment_terms text[] not null,
  redirect_url text not null,
  -- Where customers who do not complete the order go; null for the account's shop URL.
  cancel_url text,
  webhook_url text,
  pay_link_id uuid not null unique,
  pricing jsonb not null,
  source text,
  -- json, not jsonb: it keeps the exact text.
  meta_data json,
  -- By the clock of the API process, as in the first line of the timeline.
  created_at timestamptz not null,
  expires_at timestamptz,
  version integer not null,
  status text not null check (status in ('CREATED', 'PENDING', 'APPROVED', 'SUCCESSFUL', 'UNSUCCESSFUL')),
  cancelled_at timestamptz,
  -- True from a 410 until the next delivery: further webhooks are not sent.
  webhooks_disabled boolean not null default false,
  foreign key (seller_id, sandbox) references seller (id, sandbox)
);
-- A price change is a new order, and shops keep their order number: the reference of an UNSUCCESSFUL order is free
-- again.
create unique index orders_reference on orders (seller_id, reference) where status <> 'UNSUCCESSFUL';
create index orders_by_age on orders (created_at desc, id desc);
create index orders_by_seller on orders (seller_id, created_at desc, id desc);
create index orders_by_seller_status on orders (seller_id, status, created_at desc, id desc);
create index orders_by_seller_reference on orders (seller_id, reference, created_at desc, id desc);

-- Numbers the requests of all orders: see `order_work.requests`.
create sequence order_request;

-- What is left to do for an order. A row exists while the order is open or has a pending webhook or a requested resend,
-- and for a settled order until something shows that Temporal's history has its last save. It changes about nine times
-- per order, and `orders` only three times: measured, 70 % fewer updates of `orders` and 9 % less WAL.
create table order_work (
  order_id uuid primary key references orders,
  -- True once the workflow has been started.
  started boolean not null default false,
  -- The seller of an order whose workflow is not started: sellers take turns.
  seller_id uuid,
  -- When the order was created, if its workflow is not started.
  waiting_since timestamptz,
  -- When the sweep next checks that the workflow runs.
  sweep_at timestamptz not null,
  -- The regular next check, kept here until something shows that Temporal's history has the last save; until then,
  -- `sweep_at` is an earlier check. Null once it is shown.
  proven_sweep_at timestamptz,
  -- The last save since the row exists: its version, the sequence of its webhook, if it has one, and its time. They are
  -- columns of this table because a statement that waited for the row's lock sees its new values, but the old state of
  -- other tables.
  saved_version integer,
  saved_sequence integer,
  saved_at timestamptz,
  -- Until when a delivery attempt for the order may be running: attempts never overlap, whichever process makes them.
  -- Only the attempt that took the lease with this expiry may end it.
  delivery_lease_until timestamptz,
  -- Resends, applications, started payments and agreements that wait for the workflow are numbered, so that one that
  -- arrives while the sweep or the API passes on an earlier one is not forgotten. The number of the last one, and of
  -- the last one that is passed on; 0 if there is none. They are no counts: a new row would count from 1 again, and the
  -- late acknowledgement of an earlier request would be taken for that of a later one.
  requests bigint not null default 0,
  requests_passed_on bigint not null default 0,
  -- When the sweep last found the order's run stuck. It replaces a stuck run at most once an hour, so that a lasting
  -- cause does not replace run after run.
  stuck_at timestamptz
) with (fillfactor = 70);
create index order_work_due on order_work (sweep_at) where started;
create index order_work_requested on order_work (sweep_at) where requests > requests_passed_on;
create index order_work_unstarted on order_work (seller_id, sweep_at) where not started;
create index order_work_waiting on order_work (seller_id, waiting_since) where not started;

-- The entries of the timelines, which include webhook attempts, share one numbering, in the order in which they are
-- recorded.
create sequence timeline_position;

create table order_timeline (
  position bigint primary key default nextval('timeline_position'),
  order_id uuid not null references orders,
  -- The version that the change made; null for a refused request, a replaced run and a wait of webhooks.
  version integer,
  event text not null,
  from_status text,
  to_status text not null,
  actor text not null,
  -- How the request was made: see `Channel` in src/domain/status.ts.
  channel text not null,
  reason text,
  -- Of a change or a refusal: by the clock of the process that made it (created: the API, otherwise the workflow). Of a
  -- recovery or a wait: by Postgres.
  at timestamptz not null,
  -- Set for a refused request, a replaced run and a wait of webhooks, so that a retried activity records it once.
  note_id uuid unique,
  unique (order_id, version)
);
create index order_timeline_by_order on order_timeline (order_id, position);

-- An Idempotency-Key belongs to one order. The digest of the body distinguishes a repeat from another request.
create table idempotency_key (
  seller_id uuid not null references seller,
  key text not null,
  request_digest bytea not null,
  order_id uuid not null references orders,
  response json not null,
  created_at timestamptz not null default now(),
  primary key (seller_id, key)
);
-- Keys are pruned oldest first.
create index idempotency_key_by_age on idempotency_key (created_at);

create table webhook_event (
  id uuid primary key,
  order_id uuid not null references orders,
  seller_id uuid not null references seller,
  sequence integer not null,
  -- The exact text that is signed and sent, fixed when the change is saved.
  body text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'exhausted', 'disabled')),
  -- Attempts made by the schedule; resends do not count.
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  -- When a resend was requested; null again once that attempt is recorded.
  resend_requested_at timestamptz,
  -- False for one of many: it waits for its turn.
  resend_urgent boolean not null default false,
  -- The request that made the change, and its W3C trace context, for logs and traces; null if there was none.
  request_id text,
  traceparent text,
  created_at timestamptz not null default now(),
  unique (order_id, sequence)
);
create index webhook_event_pending on webhook_event (order_id) where state = 'pending';
-- For the metrics: how many webhooks are pending, and since when.
create index webhook_event_pending_by_age on webhook_event (created_at) where state = 'pending';
create index webhook_event_to_resend on webhook_event (order_id) where resend_requested_at is not null;
create index webhook_event_resends_by_seller on webhook_event (seller_id) where resend_requested_at is not null;
create index webhook_event_by_seller on webhook_event (seller_id, created_at desc, id desc);
create index webhook_event_undelivered on webhook_event (seller_id, state, created_at desc, id desc)
  where state <> 'delivered';

create table webhook_attempt (
  event_id uuid not null references webhook_event,
  -- Counts all attempts at the event, resends included, from 1.
  attempt integer not null,
  -- The position in the retry schedule, from 1; null for a resend, and for an attempt that outlived its lease.
  step integer,
  position bigint not null default nextval('timeline_position'),
  -- By the clock of Postgres.
  at timestamptz not null,
  duration_ms integer not null,
  connected_ms integer,
  headers_ms integer,
  status integer,
  error text,
  error_detail text,
  address text,
  response_body text not null,
  next_attempt_at timestamptz,
  primary key (event_id, attempt),
  unique (event_id, step)
);

-- For the timeline, which reads an order's attempts in pieces.
create index webhook_attempt_position on webhook_attempt (event_id, position);

-- An endpoint (a seller and the origin of its webhook URLs) from an attempt without an answer until the next answer.
-- After some failures its deliveries wait, and one at a time is sent as a probe: a circuit breaker that all workers
-- share.
create table endpoint_breaker (
  seller_id uuid not null references seller,
  origin text not null,
  -- When the first of the attempts without an answer began.
  since timestamptz not null,
  -- Attempts without an answer.
  failures integer not null,
  -- When one delivery may probe it; null while the breaker is closed.
  probe_at timestamptz,
  -- When an urgent resend may probe it.
  resend_probe_at timestamptz,
  -- The turn of the last delivery in the queue.
  last_turn_at timestamptz,
  primary key (seller_id, origin)
) with (fillfactor = 50);

-- Saves one change of an order, with its webhook, if the row's last change is the one that it builds on. A function, so
-- that it takes one round trip, and each statement sees what was committed while the first one waited for the lock.
--
-- The webhook's id is a UUID of version 8 (RFC 9562, 5.8) made from the order, the sequence and the body: a webhook
-- that a restored backup has lost gets the same id again, and one with other content another id.
create function save_change(
  p_order_id uuid, p_base_event text, p_base_at timestamptz,
  p_version integer, p_event text, p_from text, p_to text, p_actor text, p_channel text, p_reason text,
  p_at timestamptz, p_cancelled_at timestamptz, p_sequence integer, p_body text,
  p_unproven_ms float8, p_check_ms float8, p_request_id text, p_traceparent text,
  out saved boolean, out webhook_id uuid
) language plpgsql as $$
declare
  v_seller_id uuid;
  v_state text;
begin
  select seller_id, case when webhooks_disabled then 'disabled' else 'pending' end into v_seller_id, v_state
    from orders where id = p_order_id and version = p_version - 1 for update;
  saved := found and exists (select from order_timeline t where t.order_id = p_order_id and t.version = p_version - 1
    and t.event = p_base_event and date_trunc('milliseconds', t.at) = p_base_at);
  if not saved then
    return;
  end if;
  insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, reason, at)
    values (p_order_id, p_version, p_event, p_from, p_to, p_actor, p_channel, p_reason, p_at);
  update orders set version = p_version, status = p_to, cancelled_at = p_cancelled_at where id = p_order_id;
  if p_body is not null then
    insert into webhook_event (id, order_id, seller_id, sequence, body, request_id, traceparent, state)
      values (overlay(
          overlay(md5(p_order_id || ':' || p_sequence || ':' || p_body) placing '8' from 13) placing 'a' from 17)::uuid,
        p_order_id, v_seller_id, p_sequence, p_body, p_request_id, p_traceparent, v_state)
      returning case when state = 'pending' then id end into webhook_id;
  end if;
  -- A request that is not passed on stays due.
  insert into order_work (order_id, started, sweep_at, proven_sweep_at, saved_version, saved_sequence, saved_at)
    values (p_order_id, true, now() + least(p_unproven_ms, p_check_ms) * interval '1 ms',
      now() + p_check_ms * interval '1 ms', p_version, case when p_body is not null then p_sequence end, now())
    on conflict (order_id) do update set started = true, proven_sweep_at = excluded.proven_sweep_at,
      saved_version = excluded.saved_version, saved_sequence = excluded.saved_sequence, saved_at = excluded.saved_at,
      sweep_at = case when order_work.requests > order_work.requests_passed_on
        then least(order_work.sweep_at, excluded.sweep_at) else excluded.sweep_at end;
end $$;

-- True for an order that is settled: final, with no pending webhook event and no requested resend.
create function is_settled(p_order_id uuid, p_status text) returns boolean language sql stable as $$
  select p_status in ('SUCCESSFUL', 'UNSUCCESSFUL') and not exists (
    select from webhook_event e
    where e.order_id = p_order_id and (e.state = 'pending' or e.resend_requested_at is not null))
$$;

-- Records an attempt and its event's new state, and ends the delivery lease `p_token`. If another attempt has taken
-- over the lease, or has made the same step, the schedule belongs to that one: this attempt is recorded without a step.
-- Whichever attempt it is, a delivery ends its event, and a 410 (`disabled`) disables all pending and further events of
-- the order, until a resend is delivered. Only the attempt of a step moves the schedule. A resend answers the request
-- that its lease has read, and no later one.
create function record_attempt(
  p_event_id uuid, p_step integer, p_token timestamptz, p_at timestamptz, p_resend_requested_at timestamptz,
  p_duration_ms integer, p_connected_ms integer, p_headers_ms integer, p_status integer, p_error text,
  p_error_detail text, p_address text, p_response_body text, p_state text, p_delay_ms float8
) returns table (state_after text, attempts_after integer, wait_ms float8, waited_ms float8, disabled_after boolean) language plpgsql as $$
declare
  v_order_id uuid;
  v_disabled boolean;
  v_step integer := p_step;
  v_ends_event boolean := p_state in ('delivered', 'disabled');
begin
  select order_id into v_order_id from webhook_event where id = p_event_id;
  select webhooks_disabled into v_disabled from orders where id = v_order_id for update;
  update order_work set delivery_lease_until = null where order_id = v_order_id and delivery_lease_until = p_token;
  if not found or exists (select from webhook_attempt where event_id = p_event_id and step = p_step) then
    v_step := null;
  end if;
  insert into webhook_attempt (event_id, attempt, step, at, duration_ms, connected_ms, headers_ms, status, error,
      error_detail, address, response_body, next_attempt_at)
    select p_event_id, coalesce(max(attempt), 0) + 1, v_step, p_at, p_duration_ms, p_connected_ms, p_headers_ms,
      p_status, p_error, p_error_detail, p_address, p_response_body,
      case when v_step is not null then now() + p_delay_ms * interval '1 ms' end
    from webhook_attempt where event_id = p_event_id;
  update webhook_event set
      state = case when v_ends_event or (v_step is not null and state = 'pending') then p_state else state end,
      attempts = greatest(attempts, v_step),
      next_attempt_at = case when v_ends_event then null
        when v_step is not null and state = 'pending' then now() + p_delay_ms * interval '1 ms'
        else next_attempt_at end,
      resend_requested_at = nullif(resend_requested_at, p_resend_requested_at)
    where id = p_event_id;
  if v_ends_event and v_disabled <> (p_state = 'disabled') then
    update orders set webhooks_disabled = not v_disabled where id = v_order_id;
  end if;
  if p_state = 'disabled' then
    update webhook_event set state = 'disabled', next_attempt_at = null
      where order_id = v_order_id and state = 'pending';
  end if;
  -- As in removeIfSettled of src/db/order-work.ts.
  delete from order_work w using orders o
    where w.order_id = v_order_id and o.id = w.order_id and w.proven_sweep_at is null and is_settled(o.id, o.status);
  -- As in EVENT_STATE of src/db/webhook-events.ts, which would not see this attempt.
  return query select e.state, e.attempts,
      case when e.next_attempt_at is not null
        then round(extract(epoch from greatest(e.next_attempt_at - now(), '0')) * 1000)::float8 end,
      coalesce((select round(extract(epoch from greatest(now() - max(a.at + a.duration_ms * interval '1 ms'), '0')) * 1000)
        from webhook_attempt a where a.event_id = e.id and a.step is not null), 0)::float8,
      case when v_ends_event then p_state = 'disabled' else v_disabled end
    from webhook_event e where e.id = p_event_id;
end $$;

-- The audit log of the CLI: every command that changes something.
create table operator_action (
  id uuid primary key,
  at timestamptz not null default now(),
  operator text not null,
  -- For example 'order cancel'.
  command text not null,
  -- Arguments and options as they were passed. No command takes a secret.
  arguments jsonb not null,
  outcome text not null default 'started' check (outcome in ('started', 'succeeded', 'failed')),
  -- Why it failed.
  error text,
  -- When a worker wrote the action to its log.
  logged_at timestamptz
);
create index operator_action_by_age on operator_action (at desc, id desc);
create index operator_action_to_log on operator_action (at) where logged_at is null;

-- How a customer of the hosted checkout pays: the chosen term, and for PAY_LATER the application and the lender's
-- decision.
create table application (
  id uuid primary key default gen_random_uuid(),
  order_id uuid not null unique references orders,
  payment_term text not null check (payment_term in ('PAY_NOW', 'PAY_LATER')),
  created_at timestamptz not null default now(),
  -- Personal data, stored nowhere else, and deleted a set time after the order has closed.
  business_name text,
  company_number text,
  email text,
  monthly_turnover_pence bigint,
  submitted_at timestamptz,
  -- SHA-256 of the secret, in a cookie, of the browser that the application belongs to. It is kept with the agreement,
  -- so that only the applicant can read it.
  browser_digest bytea,
  -- Counts how often the application has moved to another browser. The code for the next move is calculated from it.
  code_number integer not null default 0,
  -- When the lender first replied that it decides later.
  referred_at timestamptz,
  decision text check (decision in ('approved', 'declined', 'failed')),
  decided_at timestamptz,
  decline_code text,
  -- What is repaid and when, if the lender approved.
  offer jsonb,
  -- When the customer agreed to the offer, by the clock of the process that showed it, or when a payment was confirmed.
  agreed_at timestamptz,
  -- When the personal data was deleted. The agreement is kept.
  purged_at timestamptz,
  constraint application_submitted check (submitted_at is null or purged_at is not null
    or (business_name is not null and company_number is not null and email is not null
      and monthly_turnover_pence is not null)),
  constraint application_has_browser check (submitted_at is null or browser_digest is not null),
  constraint application_purged check (purged_at is null
    or (business_name is null and company_number is null and email is null and monthly_turnover_pence is null)),
  check ((decision is null) = (decided_at is null))
);
-- For the deletion: an application is older than the end of its order.
create index application_by_age on application (created_at) where purged_at is null;

-- The payments that customers of the hosted checkout make at their bank. An order has at most one at a time that is not
-- over, so that it is never paid twice.
create table payment (
  id uuid primary key default gen_random_uuid(),
  order_id uuid not null references orders,
  bank text not null,
  status text not null default 'pending'
    check (status in ('pending', 'processing', 'paid', 'refused', 'cancelled', 'refunded')),
  started_at timestamptz not null default now(),
  -- When the bank first reported that the customer has approved it.
  approved_at timestamptz,
  -- When nothing was left to do: the money belongs to a SUCCESSFUL order, or the customer has it.
  closed_at timestamptz,
  -- How often a worker has tried to cancel or refund it because its order is closed, and when one tries again.
  reversal_attempts integer not null default 0,
  next_reversal_at timestamptz,
  check (status not in ('refused', 'cancelled', 'refunded') or closed_at is not null)
);
create unique index payment_current on payment (order_id) where status in ('pending', 'processing', 'paid');
create index payment_by_order on payment (order_id, started_at desc);
create index payment_open on payment (order_id) where closed_at is null;

-- The books of the sandbox bank. A payment that is cancelled before the bank knows it has no amount.
create table sandbox_payment (
  id uuid primary key,
  bank text,
  amount_pence bigint,
  payee text,
  reference text,
  return_url text,
  started_at timestamptz not null default now(),
  -- The test customer who decided, and when.
  customer text,
  decided_at timestamptz,
  cancelled_at timestamptz,
  refunded_at timestamptz
);

-- Test webhooks until a worker has sent them. Their URLs, which may be credentials, stay out of Temporal's history.
create table webhook_test (
  id uuid primary key,
  seller_id uuid not null references seller,
  url text not null,
  created_at timestamptz not null default now()
);

-- The secret with which all API processes sign the checkout's forms, encrypted like webhook secrets. Created on first
-- use.
create table checkout_secret (
  only_one boolean primary key default true check (only_one),
  secret text not null
);

-- Request counts that all API processes share. The columns and their order are those of rate-limiter-flexible.
-- Unlogged: a count is not worth a write to disk, and losing it in a crash does no harm.
create unlogged table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  -- Milliseconds since 1970, by the clock of the process that counted first
  expire bigint
) with (fillfactor = 50);
