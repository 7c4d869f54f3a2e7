-- Lists and boards that are narrowed and in the order of speed: without an index that has both, a
-- page about something rare walks over everything in that order until it has found its few rows.
CREATE INDEX run_owner_fastest ON run(owner_id, listed, total, id);
CREATE INDEX run_model_fastest ON run(model_id, listed, total, id);
CREATE INDEX run_base_fastest ON run(base_id, listed, total, id);
CREATE INDEX run_organization_fastest ON run(organization_id, listed, total, id);
CREATE INDEX run_hardware_fastest ON run(hardware_id, listed, total, id);
CREATE INDEX run_card_fastest ON run(card, listed, total, id);
CREATE INDEX run_engine_fastest ON run(engine_id, listed, total, id);
CREATE INDEX run_quantization_fastest ON run(quantization_id, listed, total, id);

CREATE INDEX board_engine ON board(engine_id, point_id, score, run_id);
CREATE INDEX board_quantization ON board(quantization_id, point_id, score, run_id);
-- The question asked most: this model on this machine.
CREATE INDEX board_pair ON board(base_id, hardware_id, point_id, score, run_id);
