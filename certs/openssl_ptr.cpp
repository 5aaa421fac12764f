#include "certs/openssl_ptr.h"
