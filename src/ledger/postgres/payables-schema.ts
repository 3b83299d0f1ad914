/**
 * The PostgreSQL schema for payables and outgoing transactions, as in `sqlite/payables-schema.ts`. Both databases compare
 * names by their bytes. The gate has no rows and exists only for its locks. A registration takes its shared lock, a refund
 * its exclusive one.
 */
export const payablesSchema = `
  CREATE TABLE paystile_ripening (tx bytea PRIMARY KEY, paid_at bigint NOT NULL, due bigint NOT NULL);
  CREATE INDEX paystile_ripening_due ON paystile_ripening (due, paid_at, tx);
  CREATE TABLE paystile_accruals (
    number bigint PRIMARY KEY,
    tx bytea NOT NULL UNIQUE CHECK (length(tx) = 64),
    at bigint NOT NULL,
    recipient text NOT NULL,
    payer text NOT NULL,
    endpoint text NOT NULL,
    token text NOT NULL,
    units numeric NOT NULL,
    paid_at bigint NOT NULL,
    rates text,
    rules text NOT NULL,
    developer text NOT NULL,
    spent numeric NOT NULL,
    worth numeric NOT NULL,
    whole numeric NOT NULL,
    rate numeric NOT NULL,
    why text NOT NULL
  );
  CREATE INDEX paystile_accruals_payer ON paystile_accruals (payer, paid_at) INCLUDE (worth) WHERE why = '';
  CREATE TABLE paystile_spendings (
    payer text NOT NULL,
    at bigint NOT NULL,
    worth numeric NOT NULL,
    PRIMARY KEY (payer, at)
  );
  CREATE TABLE paystile_shares (
    role text COLLATE "C" NOT NULL,
    payee text COLLATE "C" NOT NULL,
    number bigint NOT NULL REFERENCES paystile_accruals (number),
    units numeric NOT NULL,
    rate numeric NOT NULL,
    PRIMARY KEY (role, payee, number)
  );
  CREATE INDEX paystile_shares_number ON paystile_shares (number);
  CREATE TABLE paystile_payees (
    role text COLLATE "C" NOT NULL,
    payee text COLLATE "C" NOT NULL,
    accrued numeric NOT NULL,
    owed numeric NOT NULL CHECK (owed >= 0),
    reserved numeric NOT NULL CHECK (reserved >= 0),
    paid numeric NOT NULL,
    upto bigint NOT NULL,
    why text NOT NULL DEFAULT '',
    parked_until bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (role, payee)
  );
  CREATE INDEX paystile_payees_due ON paystile_payees (owed DESC, role, payee)
    WHERE reserved = 0 AND owed > 0 AND parked_until = 0;
  CREATE INDEX paystile_payees_parked ON paystile_payees (parked_until)
    WHERE reserved = 0 AND owed > 0 AND parked_until > 0;
  CREATE TABLE paystile_role_sums (
    role text COLLATE "C" PRIMARY KEY,
    payees bigint NOT NULL,
    accrued numeric NOT NULL,
    owed numeric NOT NULL,
    reserved numeric NOT NULL,
    paid numeric NOT NULL
  );
  CREATE TABLE paystile_reward_rules (id text PRIMARY KEY, text text NOT NULL);
  CREATE TABLE paystile_verifications (
    host text COLLATE "C" NOT NULL,
    begins bigint NOT NULL,
    ends bigint NOT NULL,
    wallet text NOT NULL,
    revoked boolean NOT NULL,
    PRIMARY KEY (host, begins)
  );
  CREATE TABLE paystile_dispatches (
    id text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    lane text NOT NULL,
    state text NOT NULL,
    version bigint NOT NULL,
    at bigint NOT NULL,
    changed_at bigint NOT NULL,
    attempts bigint NOT NULL,
    signature text,
    last_valid bigint,
    signed_slot bigint,
    sealed text NOT NULL,
    slot bigint NOT NULL,
    why text NOT NULL,
    about text NOT NULL,
    sent numeric NOT NULL,
    voids bytea,
    failures bigint NOT NULL DEFAULT 0,
    payment bytea
  );
  CREATE UNIQUE INDEX paystile_dispatches_under_way ON paystile_dispatches (lane)
    WHERE lane <> '' AND state IN ('planned', 'signed');
  CREATE UNIQUE INDEX paystile_dispatches_refund ON paystile_dispatches (lane)
    WHERE kind = 'refund' AND state <> 'dropped';
  CREATE INDEX paystile_dispatches_lane ON paystile_dispatches (lane, at, id) WHERE lane <> '' AND state <> 'dropped';
  CREATE INDEX paystile_dispatches_at ON paystile_dispatches (at, id);
  CREATE INDEX paystile_dispatches_kind ON paystile_dispatches (kind, at, id);
  CREATE INDEX paystile_dispatches_state ON paystile_dispatches (state, at, id);
  CREATE INDEX paystile_dispatches_both ON paystile_dispatches (kind, state, at, id);
  CREATE UNIQUE INDEX paystile_dispatches_voids ON paystile_dispatches (voids)
    WHERE voids IS NOT NULL AND state <> 'dropped';
  CREATE INDEX paystile_dispatches_changed ON paystile_dispatches (kind, state, changed_at);
  CREATE TABLE paystile_payout_lines (
    dispatch text COLLATE "C" NOT NULL REFERENCES paystile_dispatches (id),
    place bigint NOT NULL,
    at bigint NOT NULL,
    role text COLLATE "C" NOT NULL,
    payee text COLLATE "C" NOT NULL,
    after bigint NOT NULL,
    upto bigint NOT NULL,
    gross numeric NOT NULL,
    units numeric NOT NULL,
    opening numeric NOT NULL,
    PRIMARY KEY (dispatch, place)
  );
  CREATE INDEX paystile_payout_lines_payee ON paystile_payout_lines (role, payee, at, dispatch);
  CREATE TABLE paystile_signings (
    at bigint NOT NULL,
    dispatch text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    PRIMARY KEY (at, dispatch, attempt)
  );
  CREATE TABLE paystile_gate (nothing boolean CHECK (false))`
