-- The audit log, of one user or of one kind of action, newest first.
CREATE INDEX audit_user ON audit(user_id, id);
CREATE INDEX audit_action ON audit(action, id);
