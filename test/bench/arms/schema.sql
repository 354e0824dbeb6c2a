-- The tables of the arms besides the service: what an order of the service stores at least.
create table orders (
  id uuid primary key,
  reference text not null unique,
  amount_pence integer not null,
  webhook_url text,
  status text not null default 'CREATED',
  version integer not null default 0,
  created_at timestamptz not null default now()
);
create table order_timeline (
  order_id uuid not null references orders,
  version integer not null,
  status text not null,
  at timestamptz not null default now(),
  primary key (order_id, version)
);
create table webhook_event (
  order_id uuid not null references orders,
  sequence integer not null,
  body text not null,
  state text not null default 'pending',
  primary key (order_id, sequence)
);
create table webhook_attempt (
  order_id uuid not null references orders,
  sequence integer not null,
  status integer not null,
  at timestamptz not null default now()
);
create index webhook_attempt_by_order on webhook_attempt (order_id);
