-- What customers of the hosted checkout tell the lender, and what the lender answers. A row is deleted a set time after
-- its order has closed.
create table application (
  id uuid primary key default gen_random_uuid(),
  order_id uuid not null unique references orders,
  payment_term text not null check (payment_term in ('PAY_NOW', 'PAY_LATER')),
  created_at timestamptz not null default now(),
  -- Personal data: nowhere but here.
  business_name text,
  company_number text,
  email text,
  monthly_turnover numeric(14, 2),
  submitted_at timestamptz,
  -- When the lender first said that it decides later.
  referred_at timestamptz,
  decision text check (decision in ('approved', 'declined', 'failed')),
  decided_at timestamptz,
  decline_code text,
  -- What is to be repaid and when, where the lender approved.
  offer jsonb,
  -- When the customer confirmed, having seen the offer.
  agreed_at timestamptz,
  check (submitted_at is null
    or (business_name is not null and company_number is not null and email is not null and monthly_turnover is not null)),
  check ((decision is null) = (decided_at is null))
);
-- For the deletion: an application is older than the end of its order.
create index application_by_age on application (created_at);

-- The one secret that all API processes sign the checkout's forms with: 244 random bits.
create table checkout_secret (
  only_one boolean primary key default true check (only_one),
  secret text not null default gen_random_uuid()::text || gen_random_uuid()::text
);
insert into checkout_secret default values;
