-- What a customer agreed to is kept when what they told is deleted, and instalments count from the day of the agreement.
-- When what the customer told was deleted.
alter table application add column forgotten_at timestamptz;
alter table application drop constraint application_check;
alter table application add constraint application_submitted check (submitted_at is null or forgotten_at is not null
  or (business_name is not null and company_number is not null and email is not null and monthly_turnover is not null));
alter table application add constraint application_forgotten check (forgotten_at is null
  or (business_name is null and company_number is null and email is null and monthly_turnover is null));
drop index application_by_age;
create index application_by_age on application (created_at) where forgotten_at is null;

-- From now on an agreement is gone on with by itself. Who was told to try again is asked again.
update application set agreed_at = null where order_id in (select id from orders where status = 'APPROVED');
-- Dates that were agreed to stay beside it.
update application set offer = jsonb_set(offer, '{instalments}', (
  select coalesce(jsonb_agg(case when agreed_at is null then instalment - 'due' else instalment end
    || jsonb_build_object('dueInMonths', month) order by month), '[]')
  from jsonb_array_elements(offer -> 'instalments') with ordinality as parts (instalment, month)))
where offer is not null;

-- Where customers go back to who have completed nothing; null for the front page of the redirect address.
alter table seller add column shop_url text;

-- The orders of all sellers, the newest first, as operators list them.
create index orders_by_age on orders (created_at desc, id desc);
