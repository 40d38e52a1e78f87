// The tables of GELU without exponential and division (native/elementwise/gelu_table.h says how they were made): w(a) = a erfc(a/sqrt(2))/2 on
// [0, GELU_TABLE_END], the interval of a is a (a + GELU_TABLE_BEND) / 4 rounded.
#ifndef RIDGE_GELU_TABLE_DATA_H
#define RIDGE_GELU_TABLE_DATA_H

#define GELU_TABLE_END 8.0f
#define GELU_TABLE_BEND 7.6875f

// Centres, then coefficients, by interval.
__attribute__((unused)) static const float gelu_table[9][32] __attribute__((aligned(64))) = {
    { // m
      0, 0x1.ee9ce8p-2f, 0x1.d9090cp-1f, 0x1.53b634p+0f, 0x1.b36792p+0f, 0x1.06804p+1f, 0x1.30c884p+1f, 0x1.58e964p+1f, 0x1.7f375p+1f, 0x1.a3e4a4p+1f,
      0x1.c72c92p+1f, 0x1.e92acep+1f, 0x1.05049p+2f, 0x1.14e99ep+2f, 0x1.245e3ep+2f, 0x1.335f78p+2f, 0x1.41fcd2p+2f, 0x1.503d24p+2f, 0x1.5e245p+2f,
      0x1.6bbab8p+2f, 0x1.790658p+2f, 0x1.860854p+2f, 0x1.92c87ap+2f, 0x1.9f49d4p+2f, 0x1.ab9066p+2f, 0x1.b7a14ep+2f, 0x1.c379dp+2f, 0x1.cf20d6p+2f,
      0x1.da93bp+2f, 0x1.e5dca2p+2f, 0x1.f0f768p+2f, 0x1.fbeb0cp+2f,
    },
    { // c0
      0, 0x1.3726d6p-3f, 0x1.505da8p-3f, 0x1.f57066p-4f, 0x1.35f0dep-4f, 0x1.526a96p-5f, 0x1.50ad9ep-6f, 0x1.371bdep-7f, 0x1.0e3bd6p-8f,
      0x1.bdaf08p-10f, 0x1.5ef30ep-11f, 0x1.09a35ep-12f, 0x1.83d892p-14f, 0x1.129c54p-15f, 0x1.78ef38p-17f, 0x1.f887d8p-19f, 0x1.496178p-20f,
      0x1.a466a8p-22f, 0x1.06ee78p-23f, 0x1.428d64p-25f, 0x1.84782ep-27f, 0x1.cc7292p-29f, 0x1.0c7fc4p-30f, 0x1.347c88p-32f, 0x1.5d627cp-34f,
      0x1.860c7ap-36f, 0x1.ae876ap-38f, 0x1.d55096p-40f, 0x1.fab3d6p-42f, 0x1.0e18ep-43f, 0x1.1d4b62p-45f, 0x1.29fd9cp-47f,
    },
    { // c1
      0x1p-1f, 0x1.24fd04p-3f, -0x1.0116dcp-4f, -0x1.04903cp-3f, -0x1.d81176p-4f, -0x1.46aeeap-4f, -0x1.824d2cp-5f, -0x1.991096p-6f, -0x1.8db3aep-7f,
      -0x1.6902acp-8f, -0x1.351aecp-9f, -0x1.f7f05cp-11f, -0x1.89330ap-12f, -0x1.27ae0ep-13f, -0x1.acdcb4p-15f, -0x1.2df0a6p-16f, -0x1.9d30bcp-18f,
      -0x1.1376dap-19f, -0x1.66edap-21f, -0x1.c9856ep-23f, -0x1.1da442p-24f, -0x1.5e4f4ap-26f, -0x1.a5f7cap-28f, -0x1.f3ed02p-30f, -0x1.23806cp-31f,
      -0x1.4ea4a8p-33f, -0x1.7b5b1ep-35f, -0x1.a83bdep-37f, -0x1.d56184p-39f, -0x1.002a7ep-40f, -0x1.14c6c8p-42f, -0x1.277ap-44f,
    },
    { // c2
      -0x1.988454p-2f, -0x1.4120ccp-2f, -0x1.31a198p-3f, -0x1.43ee26p-6f, 0x1.576e2p-5f, 0x1.b81bbep-5f, 0x1.60288ap-5f, 0x1.c7af06p-6f,
      0x1.017d7ep-6f, 0x1.07b818p-7f, 0x1.f39a5ep-9f, 0x1.bc30ccp-10f, 0x1.7606eep-11f, 0x1.2cfea6p-12f, 0x1.d0261ap-14f, 0x1.597f42p-15f,
      0x1.f19778p-17f, 0x1.5bc5fcp-18f, 0x1.d9740ap-20f, 0x1.3a5b66p-21f, 0x1.97e036p-23f, 0x1.034bdep-24f, 0x1.43293ap-26f, 0x1.8b6a9ap-28f,
      0x1.db786p-30f, 0x1.18ffd8p-31f, 0x1.47864p-33f, 0x1.7822eep-35f, 0x1.aae0a6p-37f, 0x1.dd73f4p-39f, 0x1.080c78p-40f, 0x1.20524ap-42f,
    },
    { // c3
      0x1.5d5068p-21f, 0x1.b8f20cp-4f, 0x1.02546p-3f, 0x1.4f7dacp-4f, 0x1.e3020ap-6f, -0x1.c0eae2p-9f, -0x1.fcb53ep-7f, -0x1.fb6738p-7f,
      -0x1.6e5054p-7f, -0x1.bd146ep-8f, -0x1.e0f11cp-9f, -0x1.dc0f6ep-10f, -0x1.b6fafap-11f, -0x1.7e2f64p-12f, -0x1.3beecep-13f, -0x1.f497e6p-15f,
      -0x1.7d704cp-16f, -0x1.18bb0cp-17f, -0x1.90cbaep-19f, -0x1.161b9cp-20f, -0x1.77fa04p-22f, -0x1.f0c294p-24f, -0x1.40f0fap-25f, -0x1.964eeep-27f,
      -0x1.f89352p-29f, -0x1.3377e2p-30f, -0x1.70f39p-32f, -0x1.b3a124p-34f, -0x1.fba742p-36f, -0x1.23317cp-37f, -0x1.4a008ep-39f, -0x1.70daecp-41f,
    },
    { // c4
      0x1.104ab2p-4f, 0x1.25661ep-5f, -0x1.bb079cp-7f, -0x1.270482p-5f, -0x1.f9518cp-6f, -0x1.01cc46p-6f, -0x1.c53b1ep-9f, 0x1.546418p-9f,
      0x1.0a370cp-8f, 0x1.be3e4p-9f, 0x1.26d6f2p-9f, 0x1.51e898p-10f, 0x1.5dd148p-11f, 0x1.4f28cep-12f, 0x1.2cbe4cp-13f, 0x1.fff086p-15f,
      0x1.9fc668p-16f, 0x1.441d44p-17f, 0x1.e7939ap-19f, 0x1.62f84cp-20f, 0x1.f5aefap-22f, 0x1.596278p-23f, 0x1.cfd446p-25f, 0x1.306bf4p-26f,
      0x1.872b6ap-28f, 0x1.ec594cp-30f, 0x1.308ff2p-31f, 0x1.7233cp-33f, 0x1.bb8006p-35f, 0x1.053616p-36f, 0x1.2f9922p-38f, 0x1.5bab6p-40f,
    },
    { // c5
      0x1.f509b4p-14f, -0x1.6b052ep-6f, -0x1.32a6f2p-6f, -0x1.a28feap-9f, 0x1.d92672p-8f, 0x1.1f5cb8p-7f, 0x1.741d4ep-8f, 0x1.1d1b66p-9f,
      0x1.26b488p-16f, -0x1.969104p-11f, -0x1.b0cd34p-11f, -0x1.3d1ab8p-11f, -0x1.8481dcp-12f, -0x1.a63c54p-13f, -0x1.a3b438p-14f, -0x1.852da2p-15f,
      -0x1.544d56p-16f, -0x1.1b09cep-17f, -0x1.c3d924p-19f, -0x1.5aedbp-20f, -0x1.01590cp-21f, -0x1.7295ecp-23f, -0x1.036d98p-24f, -0x1.6209c2p-26f,
      -0x1.d796fcp-28f, -0x1.33297ap-29f, -0x1.887e6ep-31f, -0x1.ebdffep-33f, -0x1.2f568ap-34f, -0x1.6f4644p-36f, -0x1.b66c32p-38f, -0x1.016f4ep-39f,
    },
    { // c6
      -0x1.59434p-7f, -0x1.be865p-9f, 0x1.53151cp-8f, 0x1.9ec402p-8f, 0x1.5394bep-9f, -0x1.a18e44p-11f, -0x1.02f172p-9f, -0x1.a0396cp-10f,
      -0x1.9fd1b8p-11f, -0x1.9c9c54p-13f, 0x1.7a5c98p-14f, 0x1.4f5a46p-13f, 0x1.1dda9p-13f, 0x1.79f9a4p-14f, 0x1.b2507ep-15f, 0x1.c170bp-16f,
      0x1.af186ep-17f, 0x1.833164p-18f, 0x1.4b6556p-19f, 0x1.0e557cp-20f, 0x1.a745bep-22f, 0x1.405feap-23f, 0x1.d5b6e4p-25f, 0x1.4e696p-26f,
      0x1.cec56ep-28f, 0x1.390a24p-29f, 0x1.9e4cecp-31f, 0x1.0c484p-32f, 0x1.554244p-34f, 0x1.a93ce2p-36f, 0x1.050c76p-37f, 0x1.3ae5d6p-39f,
    },
    { // c7
      0x1.566a8ep-10f, 0x1.c24018p-9f, 0x1.c565f8p-10f, -0x1.f3193ap-12f, -0x1.0d8c88p-10f, -0x1.593936p-12f, -0x1.123304p-17f, 0x1.22914ap-12f,
      0x1.538972p-11f, 0x1.eec53p-13f, 0x1.190cf2p-13f, 0x1.5cea18p-20f, -0x1.bf29aap-17f, -0x1.6b2c78p-16f, -0x1.194db4p-16f, -0x1.65e646p-17f,
      -0x1.a0790cp-18f, -0x1.bb7518p-19f, -0x1.7d63fap-20f, -0x1.4c3efp-21f, -0x1.164906p-22f, -0x1.bbef7p-24f, -0x1.532212p-25f, -0x1.f5603p-27f,
      -0x1.715f44p-28f, -0x1.01c76cp-29f, -0x1.616c88p-31f, -0x1.db54a4p-33f, -0x1.35cda2p-34f, -0x1.913582p-36f, -0x1.f22a86p-38f, -0x1.362924p-39f,
    },
};

#endif
