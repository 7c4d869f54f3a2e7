-- Words are split and folded by search_words.c before they come here; no parser of PostgreSQL's
-- looks at them.
ALTER TABLE search_entry ADD COLUMN lexemes tsvector
    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED;
CREATE INDEX search_entry_lexemes ON search_entry USING gin(lexemes);
