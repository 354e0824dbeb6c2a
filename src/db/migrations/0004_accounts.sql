-- Accounts of sellers: branding and limits; keys that can be listed and revoked; what was changed when.

alter table seller
  -- Shown on the hosted checkout page.
  add column brand_colour text check (brand_colour ~ '^#[0-9a-f]{6}$'),
  add column logo bytea check (octet_length(logo) <= 102400),
  add column logo_type text check (logo_type in ('image/png', 'image/jpeg', 'image/webp')),
  add check ((logo is null) = (logo_type is null)),
  -- Pounds; null where the service's own limit is the only one.
  add column max_order_amount numeric(14, 2) check (max_order_amount > 0),
  -- Requests a minute; null where the service's own limit applies.
  add column rate_limit integer check (rate_limit > 0);

alter table api_key
  -- What operators call a key by.
  add column id bigint generated always as identity unique,
  add column label text,
  -- The first characters of the key, to tell by sight which one it is: far too few to use it. Null for older keys.
  add column starts_with text;
create index api_key_by_seller on api_key (seller_id);

-- What operators set in an account, since its row keeps only how it is now.
create table seller_change (
  id bigint generated always as identity primary key,
  seller_id uuid not null references seller,
  at timestamptz not null default now(),
  changes jsonb not null
);
create index seller_change_by_seller on seller_change (seller_id);

-- Lists of orders, by what they are asked for.
create index orders_by_seller_status on orders (seller_id, status, created_at desc, id desc);
create index orders_by_seller_reference on orders (seller_id, reference, created_at desc, id desc);
