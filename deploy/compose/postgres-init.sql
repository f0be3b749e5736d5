-- Run once, by the image of PostgreSQL, when there is no database yet. The role of the service is no superuser.
\set password `cat /run/secrets/database_password`
CREATE ROLE qirsh LOGIN PASSWORD :'password';
CREATE DATABASE qirsh OWNER qirsh ENCODING 'UTF8' TEMPLATE template0;
