#!/bin/sh
# Makes what is secret, once, in secrets/ beside this file. What is there stays as it is.
# Keep a copy of secret_key apart from the backups: without it no backup can be restored.
set -eu
cd "$(dirname "$0")"

# Only its owner comes into the directory. The files themselves must be readable: each is mounted into containers
# whose users have other numbers.
mkdir -p secrets
chmod 700 secrets

random() {
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

write() { # FILE TEXT
    if [ ! -s "secrets/$1" ]; then
        printf '%s\n' "$2" > "secrets/$1.new"
        chmod 444 "secrets/$1.new"
        mv "secrets/$1.new" "secrets/$1"
        echo "made secrets/$1"
    fi
}

write secret_key "$(random)"
write metrics_token "$(random)"
write postgres_password "$(random)"
write database_password "$(random)"
# Inside of one machine and one network of its own the line needs no TLS.
write database_url "postgresql://qirsh:$(cat secrets/database_password)@postgres/qirsh?sslmode=disable"

# Yours to write: with this the service does not start.
write smtp_url '<smtp+starttls://user:password@mail.your-domain:587>'
if grep -q '<' secrets/smtp_url; then
    echo "Now write the address of your mail server into secrets/smtp_url."
fi
