-- Idempotency-Keys are pruned by their age, the oldest first.
create index idempotency_key_by_age on idempotency_key (created_at);
