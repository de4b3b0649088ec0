-- The roles of care and grading, with their passwords; `care migrate` and `grading migrate` say what they may do.
\getenv care_password CARE_DATABASE_PASSWORD
\getenv grading_password GRADING_DATABASE_PASSWORD
CREATE ROLE care_app LOGIN PASSWORD :'care_password';
CREATE ROLE grading_app LOGIN PASSWORD :'grading_password';
