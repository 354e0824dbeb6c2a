-- Sellers, their keys and secrets, orders with their timeline, webhooks with their attempts.

create table seller (
  id uuid primary key,
  name text not null,
  default_redirect_url text,
  pricing jsonb not null default '{"representativeInterest": 0, "promotions": []}',
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

-- A key is found by its digest; the key itself is never stored.
create table api_key (
  digest bytea primary key,
  kind text not null check (kind in ('seller', 'checkout')),
  seller_id uuid references seller,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  check ((kind = 'seller') = (seller_id is not null))
);

-- All live secrets of a seller sign, so that a receiver can change over while two are live.
create table webhook_secret (
  id bigint generated always as identity primary key,
  seller_id uuid not null references seller,
  secret text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index webhook_secret_by_seller on webhook_secret (seller_id);

create table orders (
  id uuid primary key,
  seller_id uuid not null references seller,
  seller_name text not null,
  amount numeric(14, 2) not null check (amount > 0),
  reference text not null,
  allowed_payment_terms text[] not null,
  redirect_url text not null,
  webhook_url text,
  pay_link_id uuid not null unique,
  pricing jsonb not null,
  source text,
  -- json, not jsonb: it is given back as it was sent, keys in their order.
  meta_data json,
  created_at timestamptz not null,
  expires_at timestamptz,
  version integer not null,
  status text not null check (status in ('CREATED', 'PENDING', 'APPROVED', 'SUCCESSFUL', 'UNSUCCESSFUL')),
  cancelled_at timestamptz,
  -- Whether the workflow was ever started: cleared by the start's acknowledgement or by any save.
  started boolean not null default false,
  -- When the sweep next makes sure that the workflow runs; null once the order is final and its webhooks are settled.
  sweep_at timestamptz,
  -- Until when an attempt at one of the order's webhooks may be under way: two never overlap, whoever makes them.
  sending_until timestamptz
);
-- A price change is a new order, and shops keep their order number.
create unique index orders_reference on orders (seller_id, reference) where status <> 'UNSUCCESSFUL';
create index orders_by_seller on orders (seller_id, created_at desc, id desc);
create index orders_to_sweep on orders (sweep_at) where sweep_at is not null;

create table order_timeline (
  id bigint generated always as identity primary key,
  order_id uuid not null references orders,
  -- The version that the change made; null for a request that was refused.
  version integer,
  event text not null,
  from_status text,
  to_status text not null,
  actor text not null,
  reason text,
  at timestamptz not null,
  -- Of a refused request: keeps a line that is written again (a retried activity) from standing twice.
  refusal_id uuid unique,
  unique (order_id, version)
);

-- A key answers for one order; its body's digest tells a repeat from another request.
create table idempotency_key (
  seller_id uuid not null references seller,
  key text not null,
  request_digest bytea not null,
  order_id uuid not null references orders,
  response json not null,
  created_at timestamptz not null default now(),
  primary key (seller_id, key)
);

create table webhook_event (
  id uuid primary key,
  order_id uuid not null references orders,
  sequence integer not null,
  -- The exact bytes that are signed and sent, frozen with the change.
  body text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'exhausted', 'disabled')),
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  created_at timestamptz not null default now(),
  unique (order_id, sequence)
);
create index webhook_event_pending on webhook_event (order_id) where state = 'pending';

create table webhook_attempt (
  event_id uuid not null references webhook_event,
  attempt integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  status integer,
  error text,
  error_detail text,
  address text,
  response_body text not null,
  next_attempt_at timestamptz,
  primary key (event_id, attempt)
);
