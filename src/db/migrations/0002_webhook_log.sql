-- The webhook log that sellers read, and resending.

alter table webhook_event
  add column seller_id uuid references seller,
  -- When it was asked to send the event once more; null again once that attempt is written down.
  add column resend_at timestamptz;
update webhook_event e set seller_id = o.seller_id from orders o where o.id = e.order_id;
alter table webhook_event alter column seller_id set not null;
create index webhook_event_by_seller on webhook_event (seller_id, created_at desc, id desc);
create index webhook_event_undelivered on webhook_event (seller_id, state, created_at desc, id desc)
  where state <> 'delivered';
create index webhook_event_to_resend on webhook_event (order_id) where resend_at is not null;

-- `attempt` counts every attempt at an event; `step` is its place in the schedule, null for a resend.
alter table webhook_attempt
  add column step integer,
  add column connected_ms integer,
  add column headers_ms integer,
  -- One order over changes and attempts: that in which they were written.
  add column position bigint not null default nextval(pg_get_serial_sequence('order_timeline', 'id'));
update webhook_attempt set step = attempt;
alter table webhook_attempt add unique (event_id, step);
create index order_timeline_by_order on order_timeline (order_id, id);
