-- The roles of the services, with their passwords; `care migrate` and `grading migrate` say what theirs may do. The issuer makes
-- its own schema.
\getenv care_password CARE_DATABASE_PASSWORD
\getenv grading_password GRADING_DATABASE_PASSWORD
\getenv issuer_password ISSUER_DATABASE_PASSWORD
CREATE ROLE care_app LOGIN PASSWORD :'care_password';
CREATE ROLE grading_app LOGIN PASSWORD :'grading_password';
CREATE ROLE issuer_app LOGIN PASSWORD :'issuer_password';
GRANT CREATE ON DATABASE :"DBNAME" TO issuer_app;
