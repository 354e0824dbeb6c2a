-- The orders of all sellers, the newest first, as operators list them.
create index orders_by_age on orders (created_at desc, id desc);
