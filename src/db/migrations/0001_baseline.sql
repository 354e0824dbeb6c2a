-- Accounts with their changes, keys and secrets; orders with their start requests, timelines, idempotency keys, webhooks
-- and attempts; applications and payments of the hosted checkout; the operators' audit log. Amounts are in pence. Times are set by Postgres unless the comment states otherwise.

-- The time of a row by which lists are read. It is taken after the transaction has its id: a reader that sees no older
-- open transaction has missed no row with an earlier time. In ms, as the API shows it.
create function listed_time() returns timestamptz language sql volatile as
  $$ select case when pg_current_xact_id() is not null then date_trunc('milliseconds', clock_timestamp()) end $$;

create table seller (
  id uuid primary key,
  name text not null,
  -- The sandbox lender decides on the applications of a sandbox account, and only on those. Never changes.
  sandbox boolean not null default false,
  default_redirect_url text,
  default_cancel_url text,
  pricing jsonb not null default '{"representativeInterest": 0, "promotions": []}',
  -- Null if only the service's own limit applies.
  max_order_amount_pence bigint check (max_order_amount_pence > 0),
  -- The static headers of the account's webhooks and their origin, as JSON, encrypted like webhook secrets.
  webhook_headers text,
  -- Where the webhooks of orders without an address go, and those to the replaced addresses and origins.
  webhook_url text,
  webhook_replaces text[] not null default '{}',
  -- Requests per minute; null if the service's own limit applies.
  rate_limit integer check (rate_limit > 0),
  -- New orders a day, and their bytes; null if the service's own limits apply.
  orders_per_day integer check (orders_per_day > 0),
  bytes_per_day bigint check (bytes_per_day > 0),
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  check (webhook_url is not null or webhook_replaces = '{}'),
  -- For the orders' foreign key.
  unique (id, sandbox)
);

-- What an account has created on the last day (UTC) on which it created something. API processes add to it every few seconds.
create table account_usage (
  seller_id uuid primary key references seller on delete cascade,
  day date not null,
  orders bigint not null,
  bytes bigint not null
);

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
  -- To the hour.
  last_used_at timestamptz,
  revoked_at timestamptz,
  check ((kind = 'seller') = (seller_id is not null))
);
create index api_key_by_seller on api_key (seller_id);

-- A person's use of the seller's page: first a link that works once, then a session. Digests are SHA-256.
create table portal_session (
  id uuid primary key default gen_random_uuid(),
  seller_id uuid not null references seller,
  -- The key that made the link: the session ends when it is revoked. Null for the operator's command.
  key_id bigint references api_key (id),
  -- For the audit log, as the seller's back office has named the person.
  user_name text,
  read_only boolean not null,
  link_digest bytea not null unique,
  -- Of the cookie, from the use of the link until the session is ended.
  cookie_digest bytea unique,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  last_used_at timestamptz
);
-- For the deletion of old sessions.
create index portal_session_by_age on portal_session (created_at);

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
create index webhook_secret_ending on webhook_secret (expires_at) where expires_at is not null;

-- The facts of an order, which never change. The life of an order is its timeline. `version` and `status` are those of
-- the last change, for searches and compare-and-set.
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
  meta_data jsonb,
  -- As in the first line of the timeline.
  created_at timestamptz not null default listed_time(),
  -- When the last change was saved, and not before its own time, which is the workflow's.
  saved_at timestamptz not null default listed_time(),
  expires_at timestamptz,
  -- Until when the checkout has asked that the order does not expire, read when its expiry is due; null if it never has.
  held_until timestamptz,
  version integer not null,
  status text not null check (status in ('CREATED', 'PENDING', 'APPROVED', 'SUCCESSFUL', 'UNSUCCESSFUL')),
  -- As in the timeline: when the order became SUCCESSFUL, and how the customer pays. For searches, like `status`.
  completed_at timestamptz,
  payment_term text,
  -- How the seller is paid; written once, when the lender or the bank names it. See `Settlement` in src/domain/order.ts.
  settlement jsonb,
  -- The URL that answered 410, until the next delivery: no further webhooks are sent to it.
  gone_url text,
  -- The version that a workflow had when it found this row of a restored backup behind it; null for every other order.
  -- Until an operator has run `reconcile`, the order is not changed.
  behind_version integer,
  foreign key (seller_id, sandbox) references seller (id, sandbox)
);
-- A price change is a new order, and shops keep their order number: the reference of an UNSUCCESSFUL order is free
-- again.
create unique index orders_reference on orders (seller_id, reference) where status <> 'UNSUCCESSFUL';
create index orders_by_age on orders (created_at desc, id desc);
create index orders_by_seller on orders (seller_id, created_at desc, id desc);
create index orders_by_seller_save on orders (seller_id, saved_at desc, id desc);
-- With what the seller's overview sums up.
create index orders_by_seller_completion on orders (seller_id, completed_at desc, id desc)
  include (created_at, amount_pence) where completed_at is not null;
create index orders_by_seller_amount on orders (seller_id, amount_pence, created_at desc, id desc);
create index orders_by_seller_status on orders (seller_id, status, created_at desc, id desc);
-- For a seller's search, and with the reference alone for an operator's.
create index orders_by_reference on orders (reference, seller_id, created_at desc, id desc);
-- For the deletion of old orders.
create index orders_closed on orders (sandbox, saved_at) where status in ('SUCCESSFUL', 'UNSUCCESSFUL');
create index orders_open on orders (id) where status not in ('SUCCESSFUL', 'UNSUCCESSFUL');

-- Orders that are not restored completely: see `behind_version`.
create index orders_behind on orders (id) where behind_version is not null;

-- Orders whose workflow is not started yet. Written with the order, deleted when the workflow is started.
create table start_request (
  order_id uuid primary key references orders on delete cascade,
  seller_id uuid not null,
  created_at timestamptz not null default now()
);

-- The entries of the timelines, which include webhook attempts, share one numbering, in the order in which they are
-- recorded.
create sequence timeline_position;

create table order_timeline (
  position bigint primary key default nextval('timeline_position'),
  order_id uuid not null references orders on delete cascade,
  -- The version that the change made; null for a refused signal.
  version integer,
  event text not null,
  from_status text,
  to_status text not null,
  actor text not null,
  -- How the request was made: see `Channel` in src/domain/order.ts.
  channel text not null,
  reason text,
  -- How the customer pays, if it was reported with the event.
  payment_term text check (payment_term in ('PAY_NOW', 'PAY_LATER')),
  -- Of a change or a refusal: when the workflow decided it, by Temporal's clock. Of a creation: by Postgres.
  at timestamptz not null,
  -- Of a refused signal, so that a retried activity records it once.
  refusal_id uuid,
  unique (order_id, version)
);
create index order_timeline_by_order on order_timeline (order_id, position);
create unique index order_timeline_refusal on order_timeline (refusal_id) where refusal_id is not null;

-- An Idempotency-Key belongs to one order, and is kept for as long as the order. The digest of the body distinguishes a
-- repeat from another request.
create table idempotency_key (
  seller_id uuid not null references seller,
  key text not null,
  request_digest bytea not null,
  order_id uuid not null references orders on delete cascade,
  response json not null,
  primary key (seller_id, key)
);
-- For the deletion of old orders.
create index idempotency_key_by_order on idempotency_key (order_id);

create table webhook_event (
  id uuid primary key,
  order_id uuid not null references orders on delete cascade,
  seller_id uuid not null references seller,
  sequence integer not null,
  -- The exact text that is signed and sent, fixed when the change is saved.
  body text,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'exhausted', 'disabled')),
  -- All attempts, resends included.
  attempts integer not null default 0,
  -- Attempts made by the retry schedule.
  steps integer not null default 0,
  next_attempt_at timestamptz,
  -- The request that made the change, and its W3C trace context, for logs and traces; null if there was none.
  request_id text,
  traceparent text,
  created_at timestamptz not null default listed_time(),
  -- When body and attempts were deleted: long after the event has ended, or because a person's data was erased.
  content_deleted_at timestamptz,
  unique (order_id, sequence),
  check ((body is null) = (content_deleted_at is not null)),
  check (body is not null or state <> 'pending')
);
create index webhook_event_pending on webhook_event (order_id) where state = 'pending';
-- For the metrics, and for lists and resends that select no seller: a search by age would read all that are delivered.
create index webhook_event_undelivered_by_age on webhook_event (state, created_at desc, id desc)
  where state <> 'delivered';
-- For the deletion of old content.
create index webhook_event_with_content on webhook_event (created_at) where content_deleted_at is null and state <> 'pending';
create index webhook_event_by_age on webhook_event (created_at desc, id desc);
create index webhook_event_by_seller on webhook_event (seller_id, created_at desc, id desc);
create index webhook_event_undelivered on webhook_event (seller_id, state, created_at desc, id desc)
  where state <> 'delivered';

create table webhook_attempt (
  event_id uuid not null references webhook_event on delete cascade,
  -- Counts all attempts at the event, resends included, from 1.
  attempt integer not null,
  -- The position in the retry schedule, from 1; null for a resend.
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
  -- True if the request had the static headers of the account.
  static_headers boolean not null,
  next_attempt_at timestamptz,
  -- The endpoint that was called, and what the attempt shows about it; null if it was not called.
  seller_id uuid not null,
  origin text,
  endpoint_state text check (endpoint_state in ('answering', 'failing', 'not_answering')),
  primary key (event_id, attempt),
  unique (event_id, step)
);

-- For the timeline, which reads an order's attempts in pieces.
create index webhook_attempt_position on webhook_attempt (event_id, position);
-- For the state of an endpoint.
create index webhook_attempt_by_endpoint on webhook_attempt (seller_id, origin, endpoint_state, position)
  where endpoint_state is not null;

-- What a seller was last told of an endpoint, and when.
create table endpoint_notice (
  seller_id uuid not null references seller on delete cascade,
  origin text not null,
  turn text not null check (turn in ('failing', 'exhausted', 'answering')),
  at timestamptz not null default now(),
  primary key (seller_id, origin, turn)
);

-- The audit log of the CLI and the seller's page: everything that changes something.
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

-- What the statements of the hosted checkout read of an order. They name no table of the orders.
create view checkout_order as
select id, seller_id, reference, amount_pence, pay_link_id, sandbox, status, allowed_payment_terms, expires_at,
  -- The last change of the status.
  (select max(t.at) from order_timeline t
   where t.order_id = o.id and t.version is not null and t.from_status is distinct from t.to_status) as changed_at,
  -- Null while the order is open.
  case when status in ('SUCCESSFUL', 'UNSUCCESSFUL') then
    (select min(t.at) from order_timeline t where t.order_id = o.id and t.to_status = o.status) end as closed_at,
  -- Null unless the hosted checkout has completed the order.
  (select t.at from order_timeline t where t.order_id = o.id and t.version is not null
   and t.event = 'completed' and t.channel = 'hosted_checkout') as completed_here_at
from orders o;

-- What a seller's customers see of it on the hosted checkout.
create table branding (
  seller_id uuid primary key references seller,
  -- Where customers of orders without a cancel URL go back to; null for the front page of the redirect URL.
  shop_url text,
  colour text check (colour ~ '^#[0-9a-f]{6}$'),
  logo bytea check (octet_length(logo) <= 32768),
  logo_type text check (logo_type in ('image/png', 'image/jpeg', 'image/webp')),
  contact_email text,
  help_url text,
  check ((logo is null) = (logo_type is null))
);

-- How a customer of the hosted checkout pays: the chosen term, and for PAY_LATER the application and the lender's
-- decision.
create table application (
  id uuid primary key default gen_random_uuid(),
  order_id uuid not null unique references orders on delete cascade,
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
  -- The event of each kind that its last mail was about: its time in ms. See src/checkout/db/mails.ts.
  mailed jsonb not null default '{}',
  -- When links to continue on another device were last requested, within an hour. The links are calculated from it.
  link_requests timestamptz[] not null default '{}',
  -- When the application last moved to another browser. Links that were requested before no longer work.
  moved_at timestamptz,
  -- When the lender first replied that it decides later. Null if the customer has to act at the lender since.
  referred_at timestamptz,
  -- The lender's page where the customer has to act, until the customer comes back or the lender decides.
  action_url text,
  -- When the customer last came back from it.
  returned_at timestamptz,
  decision text check (decision in ('approved', 'declined', 'failed')),
  decided_at timestamptz,
  decline_code text,
  -- What is repaid and when, if the lender approved.
  offer jsonb,
  -- When the customer agreed to the offer, by the clock of the process that showed it.
  agreed_at timestamptz,
  -- When the order was found closed, so that nothing is left to do.
  closed_at timestamptz,
  -- When the personal data was deleted. The agreement is kept, and so is the offer of an open order.
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
-- For the commands about a customer. Deleted applications have neither.
create index application_by_email on application (lower(email)) where email is not null;
create index application_by_company on application (company_number) where company_number is not null;
create index application_open on application (order_id) where closed_at is null;

-- The payments that customers of the hosted checkout make at their bank. An order has at most one at a time that is not
-- over, so that it is never paid twice.
create table payment (
  id uuid primary key default gen_random_uuid(),
  order_id uuid not null references orders on delete cascade,
  bank text not null,
  status text not null default 'pending'
    check (status in ('pending', 'processing', 'paid', 'refused', 'cancelled', 'refunded')),
  started_at timestamptz not null default now(),
  -- When the bank first reported that the customer has approved it.
  approved_at timestamptz,
  -- When nothing was left to do: the money belongs to a SUCCESSFUL order, or the customer has it. Null again if the bank
  -- reports a payment that was refused or cancelled as paid: it has to be refunded.
  closed_at timestamptz
);
create unique index payment_current on payment (order_id) where status in ('pending', 'processing', 'paid');
create index payment_by_order on payment (order_id, started_at desc);
create index payment_open on payment (order_id) where closed_at is null;

-- What the core reads of the hosted checkout: the closed orders that it must keep, because money may have to go back.
create view checkout_unsettled as select order_id from payment where closed_at is null;

-- A payment can become open again while its order is being deleted.
create function keep_open_payment() returns trigger language plpgsql as $$
begin
  if old.closed_at is null then raise exception 'payment % is not settled', old.id; end if;
  return old;
end $$;
create trigger keep_open_payment before delete on payment for each row execute function keep_open_payment();

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
create index sandbox_payment_by_age on sandbox_payment (started_at);

-- Mails of sandbox accounts, which are shown instead of sent. Deleted after a week, and with the application's data.
create table sandbox_mail (
  -- As in the Message-ID of a mail that is sent.
  id text primary key,
  seller_id uuid not null references seller on delete cascade,
  order_id uuid references orders on delete cascade,
  at timestamptz not null default now(),
  from_name text not null,
  mail_to text not null,
  subject text not null,
  text text not null,
  html text not null
);
create index sandbox_mail_by_age on sandbox_mail (at desc);
create index sandbox_mail_by_order on sandbox_mail (order_id);

-- Test webhooks until a worker has sent them. Their URLs, which may be credentials, stay out of Temporal's history.
create table webhook_test (
  id uuid primary key,
  seller_id uuid not null references seller,
  url text not null,
  created_at timestamptz not null default now()
);

-- Secrets that all processes share, encrypted like webhook secrets: those that sign the forms of checkout and seller's page.
-- Created on first use.
create table service_secret (
  name text primary key,
  secret text not null
);
